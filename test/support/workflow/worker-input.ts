import type { Json } from '../../../src/protocol/workflow.ts';
import type { ContextSegment } from '../../../src/workflow/memory/segment.ts';
import type { GateSettings, WorkerContext, WorkerInput } from '../../../src/workflow/workers/worker.ts';

/** For tests: what the engine would hand a worker. */
export function inputFor(worktree: string, payload: ContextSegment[] = []): WorkerInput {
  return {
    execution_payload: payload,
    block_contract: { task: 'do it', signals: ['SIGNAL:SUCCESS', 'SIGNAL:FAILURE'], args: {}, returned: {} },
    inherited_context: {},
    primary_artifacts: [],
    system_metadata: {
      worktree_path: worktree,
      worktree_id: 'w1',
      block_id: 'N__B',
      run_id: 'r1',
      visit: 1,
      branch: 'main',
    },
  };
}

const AT = '2026-01-01T00:00:00.000Z';

export function contextFor(gate: Partial<GateSettings> = {}, applied: string[] = []): WorkerContext {
  return {
    visitKey: 'main/N__B#1',
    now: () => new Date(AT),
    abort: new AbortController().signal,
    isApplied: (id) => applied.includes(id),
    gate: { timeoutMs: 20_000, ...gate },
  };
}

export function segment(id: string, type: string, content: Json): ContextSegment {
  return { id, type, content, timestamp: AT, block: 'N__A', visit: 1, branch: 'main' };
}

/** What a worker of this input adds. */
export function added(n: number, type: string, content: Json): ContextSegment {
  return { id: `main/N__B#1/${n}`, type, content, timestamp: AT, block: 'N__B', visit: 1, branch: 'main' };
}
