import type { Oid } from '../git/ref-name.ts';
import type { GateView, RunView } from '../protocol/workflow.ts';
import { GATES, type Gate } from '../workflow/language/worker-name.ts';
import type { GateCommands } from '../workflow/workers/gate-commands.ts';
import type { RunGate } from '../workflow/workers/run-gate.ts';
import type { GateSource, GateVerdict } from '../worktrees/parts.ts';

const TIMEOUT_MS = 900_000;

interface RunGatesParts {
  /** The newest run in a worktree, with the commands frozen in it; undefined: nobody ran a workflow there. */
  runIn(worktreeId: string): Promise<{ view: RunView | undefined; gates: GateCommands } | undefined>;
  runGate: RunGate;
  gateEnv(path: string): Record<string, string>;
}

/** What the gates of a run say of a tree, and the same gates once more on a merged one (T-31). */
export class RunGates implements GateSource {
  readonly #parts: RunGatesParts;

  constructor(parts: RunGatesParts) {
    this.#parts = parts;
  }

  async verdict(worktreeId: string, tree: Oid): Promise<GateVerdict> {
    const run = await this.#parts.runIn(worktreeId);
    const configured = GATES.filter((gate) => run?.gates[gate] !== undefined);
    const notRun = run ? GATES.filter((gate) => run.gates[gate] === undefined) : [];
    if (!run || configured.length === 0) return { state: 'none', waived: [], notRun };
    const onTree = (run.view?.gates ?? []).filter((gate) => gate.tree === tree);
    const last = (gate: Gate) => onTree.findLast((each) => each.gate === gate)?.result;
    const results = configured.map(last);
    return { state: stateOf(results), waived: waivedIn(run.view), notRun };
  }

  async judge(worktreeId: string, { path }: { path: string }): Promise<GateVerdict> {
    const run = await this.#parts.runIn(worktreeId);
    const notRun = GATES.filter((gate) => run?.gates[gate] === undefined);
    for (const gate of GATES) {
      const [file, ...args] = run?.gates[gate]?.command ?? [];
      if (file === undefined) continue;
      const abort = new AbortController().signal;
      const spec = { file, args, cwd: path, env: this.#parts.gateEnv(path), timeoutMs: TIMEOUT_MS };
      const { code } = await this.#parts.runGate({ ...spec, output: 'together', abort });
      if (code !== 0) return { state: 'failed', waived: [], notRun };
    }
    return { state: notRun.length === GATES.length ? 'none' : 'passed', waived: [], notRun };
  }
}

function stateOf(results: (GateView['result'] | undefined)[]): GateVerdict['state'] {
  if (results.includes('failed')) return 'failed';
  return results.every((result) => result === 'passed' || result === 'waived') ? 'passed' : 'stale';
}

/** A gate a person skipped stays marked up to accept (W-31). */
function waivedIn(view: RunView | undefined): string[] {
  return [...new Set((view?.gates ?? []).filter(({ result }) => result === 'waived').map(({ gate }) => gate))];
}
