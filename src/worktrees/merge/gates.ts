import { capture } from '../../git/capture.ts';
import type { Oid } from '../../git/ref-name.ts';
import { GATES, type Gate, type GateView } from '../../protocol/workflow.ts';
import type { JudgedGate, JudgedTree } from '../../protocol/worktrees.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import type { StoredWorktree } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { type Judged, withGateCheckout } from './gate-checkout.ts';

/** The gates of a worktree, and what was said of its trees so far. */
export interface Bench {
  row: StoredWorktree;
  gates: ConfiguredGate[];
  /** Verdicts are stored with the newest run, or with the worktree if it has none. */
  owner: string;
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
 * The verdict of each gate on a tree. Gates that have neither passed nor been waived run now, in a checkout of their own.
 * A failure is tried again: its cause may lie outside the tree, and its log is wanted.
 */
export async function judgeTree(deps: Deps, bench: Bench, { commit, tree }: Judged): Promise<JudgedGate[]> {
  const before = bench.gates.map((gate) => ({ gate, said: verdictOn(deps, bench, gate, tree) }));
  const settled = ({ gate, said }: (typeof before)[number]) => ({ gate: gate.gate, result: said as 'passed' });
  const isOpen = ({ said }: (typeof before)[number]) => said !== 'passed' && said !== 'waived';
  if (!before.some(isOpen)) return before.map(settled);
  return withGateCheckout(deps, bench.row, { commit, tree }, async ({ folder, isSame }) => {
    const all: JudgedGate[] = [];
    const absent = isSame ? [] : before.filter((each) => !isOpen(each)).map(({ gate }) => gate);
    for (const each of before) {
      all.push(isOpen(each) ? await judgeNew(deps, bench, { ...each, absent, folder, tree }) : settled(each));
    }
    return all;
  });
}

interface NewJudgement {
  gate: ConfiguredGate;
  /** Gates that passed in another checkout. */
  absent: ConfiguredGate[];
  folder: string;
  tree: Oid;
}

async function judgeNew(deps: Deps, bench: Bench, { gate, absent, folder, tree }: NewJudgement): Promise<JudgedGate> {
  const { passed, log } = await runWith(gate, absent, folder);
  const result = passed ? 'passed' : 'failed';
  keep(deps, bench, gate, { result, tree });
  return { gate: gate.gate, result, ...(!passed && { log: lastLines(log) }) };
}

/** It may need what gates before it build; those that passed in another checkout run here only if it fails without. */
async function runWith(gate: ConfiguredGate, absent: ConfiguredGate[], folder: string) {
  const alone = await gate.run(folder);
  if (alone.passed || absent.length === 0) return alone;
  for (const earlier of absent.splice(0)) await earlier.run(folder);
  return gate.run(folder);
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
