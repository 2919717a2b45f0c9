import type { Oid } from '../../git/ref-name.ts';
import { GATES, type Gate, type GateView } from '../../protocol/workflow.ts';
import type { Deps } from '../deps.ts';

export interface GateVerdict {
  /** `none`: no run brought gates to this worktree. `stale`: they have not all judged this tree. */
  state: 'passed' | 'failed' | 'stale' | 'none';
  /** Gates that a person waived, and gates that have no command. */
  waived: string[];
  notRun: string[];
}

/** The part of a stored run that says how its worktree is judged. */
interface JudgedRun {
  gates: Partial<Record<Gate, { command: readonly string[] }>>;
}

const TIMEOUT_MS = 900_000;

/** What the gates of the worktree's newest run said of exactly this tree. */
export function verdictOn({ store }: Deps, worktreeId: string, tree: Oid): GateVerdict {
  const [run] = store.runs.byWorktree<JudgedRun>(worktreeId);
  if (!run) return { state: 'none', waived: [], notRun: [] };
  const configured = GATES.filter((gate) => run.doc.gates[gate] !== undefined);
  const notRun = GATES.filter((gate) => run.doc.gates[gate] === undefined);
  if (configured.length === 0) return { state: 'none', waived: [], notRun };
  const all = store.verdicts.ofRun(run.id);
  const last = (gate: Gate) => all.findLast((each) => each.gate === gate && each.tree === tree)?.result;
  const waived = all.filter(({ result }) => result === 'waived').map(({ gate }) => gate);
  return { state: stateOf(configured.map(last)), waived: [...new Set(waived)], notRun };
}

/** Runs the same gates once more, in a folder that holds a merged tree; says whether all of them pass. */
export async function passesGates({ store, run, gateEnv }: Deps, worktreeId: string, folder: string): Promise<boolean> {
  const gates = store.runs.byWorktree<JudgedRun>(worktreeId)[0]?.doc.gates ?? {};
  for (const gate of GATES) {
    const [file, ...args] = gates[gate]?.command ?? [];
    if (file === undefined) continue;
    const { code } = await run({ file, args, cwd: folder, env: gateEnv(folder), timeoutMs: TIMEOUT_MS });
    if (code !== 0) return false;
  }
  return true;
}

function stateOf(results: (GateView['result'] | undefined)[]): GateVerdict['state'] {
  if (results.includes('failed')) return 'failed';
  return results.every((result) => result === 'passed' || result === 'waived') ? 'passed' : 'stale';
}
