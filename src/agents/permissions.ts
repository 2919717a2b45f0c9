import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { AgentDescription } from './adapter.ts';
import type { AdapterRegistry } from './registry.ts';

interface Wanted {
  sandbox: boolean;
  yes: boolean;
  unsafe: boolean;
}

/** A job may start nothing that may do more than itself. A script of its own would run commands without asking. */
export function refuseEscape(
  registry: AdapterRegistry,
  parent: Job | undefined,
  { agent, yes }: { agent?: string | undefined; yes: boolean },
): void {
  if (yes && !parent?.yes) throw new ReefError('not_yours', 'a job may not allow what people have to: leave "yes" out');
  if (agent?.startsWith('scripted:') && !registry.isConfigured(agent)) {
    throw new ReefError('not_yours', `a job may not start ${agent}, which the configuration does not name`);
  }
}

/** How deep jobs may start jobs. The limit of a root holds for all below it. */
const MAX_DEPTH = 8;

export function refuseDepth({ depth, maxDepth = MAX_DEPTH }: Pick<Job, 'depth' | 'maxDepth'>): void {
  if (depth >= maxDepth) throw new ReefError('agent_depth', `jobs go at most ${maxDepth} deep here`);
}

/** A child may not go deeper than its parent may. */
export function chooseDepth(wanted: number | undefined, parent: Pick<Job, 'maxDepth'> | undefined) {
  const limits = [wanted, parent?.maxDepth].filter((limit) => limit !== undefined);
  return limits.length > 0 ? { maxDepth: Math.min(MAX_DEPTH, ...limits) } : {};
}

/** A child of a job in a sandbox works in one too, asked for or not. */
function wantsSandbox({ sandbox }: Pick<Wanted, 'sandbox'>, parent: Job | undefined): boolean {
  return sandbox || parent?.sandbox === 'bubblewrap';
}

export function refuseSandbox(
  wanted: Pick<Wanted, 'sandbox'> & { agent: string },
  parent: Job | undefined,
  { sandbox }: Pick<AgentDescription, 'sandbox'>,
): void {
  if (sandbox !== false || !wantsSandbox(wanted, parent)) return;
  throw new ReefError(
    'sandbox_unsupported',
    `${wanted.agent} needs Reef's configuration, with its models and keys, and a sandbox hides that`,
  );
}

export function chooseSandbox(
  wanted: Wanted,
  parent: Job | undefined,
  { bubblewrap }: Pick<Capabilities, 'bubblewrap'>,
): Job['sandbox'] {
  const isWanted = wantsSandbox(wanted, parent);
  if (isWanted && bubblewrap === undefined) {
    throw new ReefError('sandbox_unavailable', 'bubblewrap is not installed here or not allowed to work');
  }
  if (wanted.yes && !isWanted && !wanted.unsafe) {
    throw new ReefError('unsafe_needs_consent', 'an agent that asks nothing needs a sandbox around it');
  }
  return isWanted ? 'bubblewrap' : 'none';
}
