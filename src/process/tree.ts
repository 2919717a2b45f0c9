import { setTimeout as sleep } from 'node:timers/promises';
import { adopt, ageMs, identityOf, type ProcessIdentity } from './identity.ts';
import { argumentsOf, processRows } from './process-table.ts';
import { signal, signalGroup } from './signal.ts';
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
/** A signal can come before the agent is there to hear it; one this young has nothing to lose by hearing it again. */
const YOUNG_MS = 1_000;

/** Ends a job's tree. A status is to be written after this resolves: the tree is gone then, and not before. */
export async function endTree(tree: JobTree, { graceMs }: { graceMs: number }): Promise<Ended> {
  const startedAt = performance.now();
  const isRunning = isWrapper(tree);
  if (isRunning) await endWrapped(tree.identity, graceMs);
  const { reaped, left } = await sweep(tree.tag);
  const survivors = left.length + (isWrapper(tree) ? 1 : 0);
  const didAnything = isRunning || reaped.length > 0 || left.length > 0;
  return { survivors, waitedMs: didAnything ? Math.round(performance.now() - startedAt) : 0 };
}

/** A record may be wrong in all three parts of an identity; the wrapper's own arguments say whose it is. */
function isWrapper({ identity, tag }: JobTree): boolean {
  if (adopt(identity) !== 'alive') return false;
  const args = argumentsOf(identity.pid);
  return args.some((arg, index) => arg === WRAPPER_MARK && args[index + 1] === tag);
}

async function endWrapped(wrapper: ProcessIdentity, graceMs: number): Promise<void> {
  if (await signalUntilGone(wrapper, 'SIGTERM', graceMs)) return;
  if (await signalUntilGone(wrapper, 'SIGKILL', LAST_WAIT_MS)) return;
  signal(wrapper, 'SIGKILL');
}

/** The wrapper itself is never signalled here: it has to write down how the job ended. */
async function signalUntilGone(wrapper: ProcessIdentity, name: NodeJS.Signals, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  let isSent = false;
  while (adopt(wrapper) === 'alive') {
    if (!isSent || ageMs(wrapper) < YOUNG_MS) isSent = signalCommand(wrapper, name);
    if (performance.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** What the wrapper runs leads a group of its own; the wrapper's helpers do not. */
function signalCommand(wrapper: ProcessIdentity, name: NodeJS.Signals): boolean {
  const leader = processRows().find((row) => row.isAlive && row.parent === wrapper.pid && row.group === row.pid);
  return leader !== undefined && adopt(wrapper) === 'alive' && signalGroup(identityOf(leader), name);
}
