import type { Capabilities } from '../process/capabilities.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { AdapterRegistry } from './registry.ts';

interface Wanted {
  sandbox: boolean;
  yes: boolean;
  unsafe: boolean;
}

/** What a job starts may do no more than the job itself; a script of its own would run commands that nobody is asked about. */
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

/** A child of a job in a sandbox works in one too, asked for or not. */
export function chooseSandbox(
  wanted: Wanted,
  parent: Job | undefined,
  { bubblewrap }: Pick<Capabilities, 'bubblewrap'>,
): Job['sandbox'] {
  const isWanted = wanted.sandbox || parent?.sandbox === 'bubblewrap';
  if (isWanted && bubblewrap === undefined) {
    throw new ReefError('sandbox_unavailable', 'bubblewrap is not installed here or not allowed to work');
  }
  if (wanted.yes && !isWanted && !wanted.unsafe) {
    throw new ReefError('unsafe_needs_consent', 'an agent that asks nothing needs a sandbox around it');
  }
  return isWanted ? 'bubblewrap' : 'none';
}
