import { capture } from '../../git/capture.ts';
import type { Oid } from '../../git/ref-name.ts';
import { GATES, type Gate, type GateView } from '../../protocol/workflow.ts';
import type { GateStanding, JudgedGate, JudgedTree } from '../../protocol/worktrees.ts';
import type { ConfiguredGate, Deps } from '../deps.ts';
import { refs } from '../layout.ts';
import type { StoredWorktree } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { compareWithBase } from './base-failures.ts';
import { type GateFolder, type Judged, runInOrder, withGateCheckout } from './gate-checkout.ts';

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

/** Whether the gate may be left out for exactly this tree: it has passed on it, or a person waived it in the run. */
export function verdictOn({ store }: Deps, { owner }: Bench, gate: ConfiguredGate, tree: Oid): JudgedGate | undefined {
  const isWaived = ({ result, ...of }: GateView) => result === 'waived' && of.gate === gate.gate && of.tree === tree;
  if (store.verdicts.hasPassed(tree, gate.key)) return { ...about(gate), result: 'passed', reused: true };
  return store.verdicts.ofRun(owner).some(isWaived) ? { ...about(gate), result: 'waived' } : undefined;
}

export function notConfigured({ gates }: Bench): Gate[] {
  return GATES.filter((name) => !gates.some(({ gate }) => gate === name));
}

/**
 * The verdict of each gate on a tree. Gates that have neither passed nor been waived run now, in a checkout of their own.
 * A failure is tried again: its cause may lie outside the tree, and its log is wanted.
 */
export async function judgeTree(deps: Deps, bench: Bench, judged: Judged & { base: Oid }): Promise<JudgedGate[]> {
  const all: JudgedGate[] = [];
  for (const { log, ...said } of await verdictsOn(deps, bench, judged)) {
    const { row, gates } = bench;
    const isCompared = log !== undefined && said.blocks !== false;
    const compared =
      isCompared && (await compareWithBase(deps, { row, gates, gate: said.gate, log, base: judged.base }));
    all.push({ ...said, ...(log !== undefined && { log: lastLines(log) }), ...(compared && { compared }) });
  }
  return all;
}

/** Logs are whole. */
async function verdictsOn(deps: Deps, bench: Bench, { commit, tree }: Judged): Promise<JudgedGate[]> {
  const before = bench.gates.map((gate) => ({ gate, said: verdictOn(deps, bench, gate, tree) }));
  const settled = before.flatMap(({ said }) => said ?? []);
  if (settled.length === before.length) return settled;
  return withGateCheckout(deps, bench.row, { commit, tree }, async (at) => {
    const all: JudgedGate[] = [];
    for (const { gate, said } of before) all.push(said ?? (await judgeNew(deps, bench, { gate, before, at, tree })));
    return all;
  });
}

interface NewJudgement {
  gate: ConfiguredGate;
  /** All gates, with what is known of those that have passed. */
  before: readonly { gate: ConfiguredGate; said: JudgedGate | undefined }[];
  at: GateFolder;
  tree: Oid;
}

async function judgeNew(deps: Deps, bench: Bench, { gate, before, at, tree }: NewJudgement): Promise<JudgedGate> {
  const index = bench.gates.indexOf(gate);
  const earlier = before.slice(0, index).flatMap(({ said }) => (said ? [said.gate] : []));
  const byName = new Map(bench.gates.map((each) => [each.gate, each]));
  const run = (name: string) => (byName.get(name) ?? gate).run(at.folder);
  const { passed, log } = await runInOrder(at, { gate: gate.gate, earlier, run });
  const result = passed ? 'passed' : 'failed';
  keep(deps, bench, gate, { result, tree });
  return { ...about(gate), result, ...(!passed && { log }) };
}

const about = ({ gate, blocks }: ConfiguredGate) => ({ gate, ...(!blocks && { blocks: false as const }) });

/** What each gate said last, and of which files. Runs none. */
export function standings(deps: Deps, bench: Bench, tree: Oid): GateStanding[] {
  const stored = deps.store.verdicts.ofRun(bench.owner).toReversed();
  const known = bench.gates.map((gate): GateStanding => {
    const now = verdictOn(deps, bench, gate, tree);
    if (now) return { ...about(gate), result: now.result, tree };
    const isOfIt = (of: GateView) => of.gate === gate.gate && of.key === gate.key && of.tree !== undefined;
    const { result = 'not_run', tree: judged } = stored.find(isOfIt) ?? {};
    return { ...about(gate), result, ...(judged !== undefined && { tree: judged }) };
  });
  return [...known, ...notConfigured(bench).map((gate) => ({ gate, result: 'not_configured' as const }))];
}

/** The tree as it is in the worktree now, uncommitted work included. */
export async function judgeNow(deps: Deps, row: StoredWorktree): Promise<JudgedTree> {
  const bench = await openBench(deps, row);
  const worktree = await openWorktree(deps, folderOf(row));
  const at = deps.clock.now();
  const taken = await capture(deps.git, worktree, { ref: refs.work(row.id), message: row.title, at });
  const gates = await judgeTree(deps, bench, { ...taken, base: row.base.commit });
  const rest = notConfigured(bench).map((gate) => ({ gate, result: 'not_configured' }) as const);
  return { id: row.id, tree: taken.tree, gates: [...gates, ...rest] };
}

function keep(
  { store }: Deps,
  { owner, row }: Bench,
  { gate, command, key }: ConfiguredGate,
  said: Pick<GateView, 'result' | 'tree'>,
) {
  store.commit(() => {
    const visit = store.verdicts.ofRun(owner).filter(({ branch }) => branch === BRANCH).length + 1;
    store.verdicts.insert(owner, [{ branch: BRANCH, block: command.join(' '), visit, gate, key, ...said }]);
  });
  store.changes.tell({ kind: 'worktree', id: row.id });
}

/** Of a log that is shown. */
export function lastLines(log: string): string {
  const lines = log.trimEnd().split('\n');
  return lines.slice(-SHOWN_LINES).join('\n');
}
