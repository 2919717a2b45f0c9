import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job, SandboxKind, SandboxMode } from '../protocol/jobs.ts';
import type { AgentDescription } from './adapter.ts';
import type { AdapterRegistry } from './registry.ts';

interface Wanted {
  /** True: only with one. False: without. */
  sandbox?: boolean | undefined;
  yes: boolean;
  unsafe: boolean;
}

/** A job may start nothing that may do more than itself. A script of its own would run commands without asking. */
export function refuseEscape(
  registry: AdapterRegistry,
  parent: Job | undefined,
  { agent, yes, sandbox }: { agent?: string | undefined; yes: boolean; sandbox?: boolean | undefined },
): void {
  if (sandbox === false) throw new ReefError('not_yours', 'a job may not leave its sandbox: leave "sandbox" out');
  if (yes && !parent?.yes) throw new ReefError('not_yours', 'a job may not allow what people have to: leave "yes" out');
  if (agent?.startsWith('scripted:') && !registry.isConfigured(agent)) {
    throw new ReefError('not_yours', `a job may not start ${agent}, which the configuration does not name`);
  }
}

/** How deep jobs may start jobs. The limit of a root holds for all below it. */
const MAX_DEPTH = 8;

export function refuseDepth({ depth, maxDepth = MAX_DEPTH }: Pick<Job, 'depth' | 'maxDepth'>): void {
  if (depth >= maxDepth) throw new ReefError('agent_depth', `jobs may be nested at most ${maxDepth} deep here`);
}

/** An agent that starts others without end would take every place and the memory of the daemon. */
const MOST_CHILDREN = 64;
const MOST_BELOW_ROOT = 256;

export function refuseCrowd({ id, rootId }: Job, live: readonly { job: Job }[]): void {
  const children = live.filter(({ job }) => job.parentId === id).length;
  const family = live.filter(({ job }) => job.rootId === rootId).length;
  if (children >= MOST_CHILDREN) throw new ReefError('too_many_children', `job ${id} has ${children} children at work`);
  if (family >= MOST_BELOW_ROOT) throw new ReefError('too_many_children', `${family} jobs work below ${rootId}`);
}

/** A child may not go deeper than its parent may. */
export function chooseDepth(wanted: number | undefined, parent: Pick<Job, 'maxDepth'> | undefined) {
  const limits = [wanted, parent?.maxDepth].filter((limit) => limit !== undefined);
  return limits.length > 0 ? { maxDepth: Math.min(MAX_DEPTH, ...limits) } : {};
}

interface Around extends Pick<Capabilities, 'bubblewrap'> {
  mode: SandboxMode;
  agent: Pick<AgentDescription, 'name' | 'sandbox'> | undefined;
}

/** A sandbox where one works, unless somebody said otherwise. A child of a job in a sandbox always works in one. */
export function chooseSandbox(
  wanted: Wanted,
  parent: Job | undefined,
  { bubblewrap, mode, agent }: Around,
): SandboxKind {
  const isRequired = parent?.sandbox === 'bubblewrap' || (wanted.sandbox ?? mode === 'require');
  const isWanted = isRequired || (wanted.sandbox ?? mode !== 'off');
  if (isRequired && agent?.sandbox === false) {
    throw new ReefError(
      'sandbox_unsupported',
      `${agent.name} needs Reef's configuration, with its models and keys, and a sandbox hides that`,
    );
  }
  if (isRequired && bubblewrap === undefined) {
    throw new ReefError('sandbox_unavailable', 'bubblewrap is not installed here or not allowed to work');
  }
  const isWalled = isWanted && bubblewrap !== undefined && agent?.sandbox !== false;
  if (wanted.yes && !isWalled && !wanted.unsafe) {
    throw new ReefError('unsafe_needs_consent', 'an agent that asks nothing needs a sandbox around it');
  }
  if (isWalled) return 'bubblewrap';
  return agent?.sandbox === 'own' ? 'agent' : 'none';
}
