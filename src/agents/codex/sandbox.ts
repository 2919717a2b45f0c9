import { join, relative } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { LaunchRequest, MachineFacts } from '../adapter.ts';
import { emit } from '../adapter-effects.ts';
import { isRoutine } from './known.ts';
import { type Step, step } from './step.ts';

/** Its own sandbox stays on wherever Reef's is not up, even where it may not work: then Codex says so. */
export function sandboxMode(
  machine: MachineFacts,
  { readonly = false }: Pick<LaunchRequest, 'readonly'>,
): 'read-only' | 'workspace-write' | 'danger-full-access' {
  if (readonly && machine.agentSandbox) return 'read-only';
  return machine.agentSandbox ? 'workspace-write' : 'danger-full-access';
}

/** With its home below the temporary folder Codex makes no helper for its sandbox: every command fails, and it exits with 0. */
export function refuseTemporaryHome({ agentSandbox, env = {} }: MachineFacts): void {
  const { HOME = '/', TMPDIR = '/tmp', CODEX_HOME = join(HOME, '.codex') } = env;
  const isBelow = !relative(TMPDIR, CODEX_HOME).startsWith('..');
  if (agentSandbox && isBelow) {
    throw new ReefError('bad_agent_home', `Codex has no sandbox with its home ${CODEX_HOME} below ${TMPDIR}`);
  }
}

const BROKEN = 'Codex cannot start its sandbox here: every command of it fails';

export type SandboxState = { isSandboxed: boolean; isSandboxBroken: boolean };

export function onStderr<S extends SandboxState>(state: S, text: string): Step<S> {
  const isNews = state.isSandboxed && !state.isSandboxBroken && text.includes('could not create PATH aliases');
  if (!isNews) return isRoutine(text) ? step(state, { do: 'routine' }) : step(state);
  const told = { code: 'agent_sandbox_broken', message: `${BROKEN} (${text})` } as const;
  const payload = { ...told, scope: 'process', fatal: false, retryable: false } as const;
  return step({ ...state, isSandboxBroken: true }, emit({ type: 'error', payload }));
}

export function sandboxEnd({ isSandboxBroken }: SandboxState) {
  return isSandboxBroken ? { code: 'agent_sandbox_broken' as const, message: BROKEN } : undefined;
}
