import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { adopt, identityOf, type ProcessIdentity, signal, signalGroup } from './identity.ts';
import { argumentsOf, processRows } from './process-table.ts';
import { sweep } from './sweep.ts';

export interface JobTree {
  /** Of the wrapper, as `launch` gave it. */
  identity: ProcessIdentity;
  tag: string;
}

export interface Ended {
  survivors: number;
  waitedMs: number;
}

/** Stands before the tag in the arguments of a wrapper. */
export const WRAPPER_MARK = 'reef-job';

/** After SIGKILL only the kernel and the wrapper's last lines are waited for; the wrapper itself gives up after 5 s. */
const LAST_WAIT_MS = 8_000;
const POLL_MS = 10;

/**
 * Ends a job's tree. Write a status only after this resolves: then the tree is gone. A grace over 5 s is 5 s, because `timeout`
 * arms its own SIGKILL when it hears SIGTERM, so that the tree ends even if we die halfway.
 */
export async function endTree(tree: JobTree, { graceMs }: { graceMs: number }): Promise<Ended> {
  const startedAt = performance.now();
  const folder = wrapperFolder(tree);
  if (folder !== undefined) await endWrapped(tree.identity, hasBegun(folder) ? graceMs : 0);
  const { reaped, left } = await sweep(tree.tag);
  const survivors = left.length + (wrapperFolder(tree) === undefined ? 0 : 1);
  const didAnything = folder !== undefined || reaped.length > 0 || left.length > 0;
  return { survivors, waitedMs: didAnything ? Math.round(performance.now() - startedAt) : 0 };
}

/** The launch folder of a living wrapper. Its own arguments say whose it is, in case the record is wrong. */
function wrapperFolder({ identity, tag }: JobTree): string | undefined {
  if (adopt(identity) !== 'alive') return undefined;
  const args = argumentsOf(identity.pid);
  const mark = args.findIndex((arg, index) => arg === WRAPPER_MARK && args[index + 1] === tag);
  return mark < 0 ? undefined : args[mark + 2];
}

/** Before the agent has begun, nobody hears a SIGTERM. */
function hasBegun(folder: string): boolean {
  return statSync(join(folder, 'begun'), { throwIfNoEntry: false })?.size !== 0;
}

async function endWrapped(wrapper: ProcessIdentity, graceMs: number): Promise<void> {
  // To the leader alone, which passes it on to its group: an agent may take a second one for impatience.
  if (graceMs > 0 && (await signalUntilGone(wrapper, (leader) => signal(leader, 'SIGTERM'), graceMs))) return;
  if (await signalUntilGone(wrapper, (leader) => signalGroup(leader, 'SIGKILL'), LAST_WAIT_MS)) return;
  signal(wrapper, 'SIGKILL');
}

/** Does not signal the wrapper itself, which has to write down how the job ended. */
async function signalUntilGone(
  wrapper: ProcessIdentity,
  send: (leader: ProcessIdentity) => boolean,
  withinMs: number,
): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  let isSent = false;
  while (adopt(wrapper) === 'alive') {
    const leader = isSent ? undefined : leaderOf(wrapper); // a wrapper that has just started may have none yet
    if (leader) isSent = send(leader);
    if (performance.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** What the wrapper runs leads a group of its own; the wrapper's helpers do not. */
function leaderOf(wrapper: ProcessIdentity): ProcessIdentity | undefined {
  const leader = processRows().find((row) => row.isAlive && row.parent === wrapper.pid && row.group === row.pid);
  return leader && adopt(wrapper) === 'alive' ? identityOf(leader) : undefined;
}
