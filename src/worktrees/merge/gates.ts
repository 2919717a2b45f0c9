import { capture } from '../../git/capture.ts';
import type { Oid } from '../../git/ref-name.ts';
import { ReefError } from '../../protocol/errors.ts';
import { GATES, type Gate, type GateView } from '../../protocol/workflow.ts';
import type { JudgedGate, JudgedTree } from '../../protocol/worktrees.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import { copyRepositoryFiles } from '../make/build.ts';
import type { StoredWorktree } from '../records.ts';
import { addEntry, folderOf, openWorktree, removeEntry } from '../registry.ts';
import { runSetup, runTeardown } from '../scripts.ts';

/** The gates of a worktree, and what was said of its trees so far. */
export interface Bench {
  row: StoredWorktree;
  gates: ConfiguredGate[];
  /** Verdicts are stored with the newest run, or with the worktree if it has none. */
  owner: string;
}

interface Snapshot {
  commit: Oid;
  tree: Oid;
}

const BRANCH = 'accept';
const SHOWN_LINES = 30;

export async function openBench(deps: Deps, row: StoredWorktree): Promise<Bench> {
  const [run] = deps.store.runs.byWorktree(row.id);
  return { row, gates: await deps.gatesOf(row.id), owner: run?.id ?? row.id };
}

/** What was said last of exactly this tree. */
export function verdictOn({ store }: Deps, { owner }: Bench, { gate, command }: ConfiguredGate, tree: Oid) {
  const isMeant = (each: GateView) =>
    each.gate === gate && each.tree === tree && (each.branch !== BRANCH || each.block === command.join(' '));
  return store.verdicts.ofRun(owner).findLast(isMeant)?.result;
}

export function notConfigured({ gates }: Bench): Gate[] {
  return GATES.filter((name) => !gates.some(({ gate }) => gate === name));
}

/**
 * The verdict of each gate on a tree. Gates that have neither passed nor been waived run now, in a fresh checkout that is
 * set up as any worktree is. A failure is tried again: its cause may lie outside the tree, and its log is wanted.
 */
export async function judgeTree(deps: Deps, bench: Bench, { commit, tree }: Snapshot): Promise<JudgedGate[]> {
  const before = bench.gates.map((gate) => ({ gate, said: verdictOn(deps, bench, gate, tree) }));
  const isOpen = ({ said }: { said?: string | undefined }) => said !== 'passed' && said !== 'waived';
  const judged = (gate: Gate, result: JudgedGate['result'], log?: string) => ({ gate, result, ...(log && { log }) });
  if (!before.some(isOpen)) return before.map(({ gate: { gate }, said }) => judged(gate, said as 'passed'));
  return withScratch(deps, bench.row, commit, async (folder) => {
    const all: JudgedGate[] = [];
    for (const each of before) {
      const { gate } = each.gate;
      if (isOpen(each)) {
        const { passed, log } = await each.gate.run(folder);
        const result = passed ? 'passed' : 'failed';
        keep(deps, bench, each.gate, { result, tree });
        all.push(judged(gate, result, passed ? undefined : lastLines(log)));
      } else all.push(judged(gate, each.said as 'passed'));
    }
    return all;
  });
}

/** The tree as it is in the worktree now, uncommitted work included. */
export async function judgeNow(deps: Deps, row: StoredWorktree): Promise<JudgedTree> {
  const bench = await openBench(deps, row);
  const worktree = await openWorktree(deps, folderOf(row));
  const at = deps.clock.now();
  const taken = await capture(deps.git, worktree, { ref: refs.work(row.id), message: row.title, at });
  const gates = await judgeTree(deps, bench, taken);
  const rest = notConfigured(bench).map((gate) => ({ gate, result: 'not_configured' }) as const);
  return { id: row.id, tree: taken.tree, gates: [...gates, ...rest] };
}

function keep(
  { store }: Deps,
  { owner }: Bench,
  { gate, command }: ConfiguredGate,
  said: Pick<GateView, 'result' | 'tree'>,
) {
  store.commit(() => {
    const visit = store.verdicts.ofRun(owner).filter(({ branch }) => branch === BRANCH).length + 1;
    store.verdicts.insert(owner, [{ branch: BRANCH, block: command.join(' '), visit, gate, ...said }]);
  });
}

function lastLines(log: string): string {
  const lines = log.trimEnd().split('\n');
  return lines.slice(-SHOWN_LINES).join('\n');
}

/** A checkout on no branch, set up with ports of its own, and removed after `use`. */
async function withScratch<T>(
  deps: Deps,
  row: StoredWorktree,
  commit: Oid,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const { id } = row;
  const path = deps.layout.scratchOf(id);
  const name = `scratch-${id}`;
  await removeEntry(deps, path);
  await addEntry(deps, { path, commit, reason: `reef scratch ${id}` });
  try {
    const portBase = await deps.ports.reserve(name, path);
    const scratch = { ...row, path, portBase, branch: `${row.branch}-gates` };
    await copyRepositoryFiles(deps, scratch);
    const { state, message } = await runSetup(deps, scratch);
    try {
      if (state === 'failed') throw setupFailed(row, message);
      return await use(path);
    } finally {
      await runTeardown(deps, scratch);
    }
  } finally {
    await removeEntry(deps, path);
    deps.ports.release(name);
  }
}

function setupFailed({ id }: StoredWorktree, message = ''): ReefError {
  const what = `No gate ran: the set-up of the checkout in which the gates of ${id} were to run failed. ${message}`;
  return new ReefError('gates_not_set_up', what, { details: { command: `reef worktree gates ${id}` } });
}
