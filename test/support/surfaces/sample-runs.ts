import type { Call, RunSummary } from '../../../src/protocol/run-operations.ts';
import type { RunView } from '../../../src/protocol/workflow.ts';
import type { WorktreeRecord, WorktreeView } from '../../../src/protocol/worktrees.ts';
import { JOB_ID } from './samples.ts';

/** Whole runs and worktrees for tests, of which a test names only what it is about. */
export const RUN_ID = '01KB1B2C3D4E5F6G7H8J9KAMNP';
export const WORKTREE_ID = '01KC1B2C3D4E5F6G7H8J9KAMNP';

export function sampleRun(changes: Partial<RunSummary> = {}): RunSummary {
  return {
    runId: RUN_ID,
    task: 'mend the tax',
    workflow: 'Main',
    worktree: WORKTREE_ID,
    target: 'main',
    path: '/worktrees/one',
    status: 'halted',
    block: 'Main__Test',
    visit: 2,
    because: 'Test failed.',
    createdAt: '2026-03-01T12:00:00.000Z',
    ...changes,
  };
}

export function sampleView(changes: Partial<RunView> = {}): RunView {
  const at = (block: string, visit: number) => ({ block, visit, branch: 'main' });
  const entry = (block: string, visit: number, status: 'complete' | 'failed') => ({
    ...{ ...at(block, visit), worker: 'Internal:TestRunner', status },
    ...{ signal: status === 'complete' ? 'SIGNAL:SUCCESS' : 'SIGNAL:FAILURE', endedAt: '2026-03-01T12:01:00.000Z' },
    segments: [],
  });
  const halt = {
    ...{ key: 'main/halt-1', reason: 'halted_by_workflow', ...at('Main__Test', 2) },
    ...{ message: 'Test failed.', excerpt: 'expected 1, got 2' },
    options: ['resume' as const, 'retry' as const, 'skip' as const, 'abort' as const],
  };
  return {
    runId: RUN_ID,
    seq: 9,
    task: 'mend the tax',
    outcome: 'running',
    graph: {
      nodeId: 'Main',
      blocks: ['Main__Write', 'Main__Test'],
      transitions: [
        { from: 'Main__Write', to: 'Main__Test', signal: 'SIGNAL:SUCCESS' },
        { from: 'Main__Test', to: 'RETURN', signal: 'SIGNAL:SUCCESS' },
        { from: 'Main__Test', to: 'Main__Write', signal: 'SIGNAL:FAILURE' },
        { from: 'Main__Test', to: 'HALT_AND_FLAG', signal: 'SIGNAL:FAILURE' },
      ],
    },
    statuses: { Main__Write: 'complete', Main__Test: 'halted' },
    position: at('Main__Test', 2),
    path: [at('Main__Write', 1), at('Main__Test', 1), at('Main__Write', 2), at('Main__Test', 2)],
    lastTransition: { from: 'Main__Write', to: 'Main__Test', signal: 'SIGNAL:SUCCESS' },
    visits: { Main__Write: 2, Main__Test: 2 },
    returnStack: [],
    isHalted: true,
    halt,
    halts: [halt],
    budget: { limit: {}, spent: { tokens: 10, turns: 2, seconds: 3, usd: null }, warned: [] },
    stats: { filesWritten: 1, linesWritten: 2, segments: 3 },
    gates: [{ ...at('Main__Test', 2), gate: 'test', result: 'failed' }],
    events: [],
    executionLog: {
      'Main__Write#1': entry('Main__Write', 1, 'complete'),
      'Main__Test#1': entry('Main__Test', 1, 'failed'),
      'Main__Write#2': entry('Main__Write', 2, 'complete'),
      'Main__Test#2': entry('Main__Test', 2, 'failed'),
    },
    ...changes,
  };
}

export function sampleRecord(changes: Partial<WorktreeRecord> = {}): WorktreeRecord {
  return {
    id: WORKTREE_ID,
    taskId: RUN_ID,
    path: '/worktrees/one',
    branch: 'reef/mend-the-tax/tip',
    base: { branch: 'main', commit: 'a'.repeat(40) },
    changePlan: [{ path: 'src/tax.ts', origin: 'declared' }],
    portBase: 20_010,
    status: 'running',
    ...changes,
  };
}

export function sampleWorktree(changes: Partial<WorktreeView> = {}): WorktreeView {
  return {
    ...sampleRecord(),
    title: 'Mend the tax',
    createdAt: '2026-03-01T12:00:00.000Z',
    health: 'AMBER',
    overlap: [],
    queue: null,
    drift: { unplanned: [], untouched: [] },
    seen: null,
    gates: [],
    setup: { state: 'none' },
    ...changes,
  };
}

export function sampleCall(changes: Partial<Call> = {}): Call {
  return {
    callId: `${JOB_ID}:1`,
    timestamp: '2026-03-01T12:00:01.000Z',
    runId: RUN_ID,
    block: 'Main__Write',
    visit: 1,
    jobId: JOB_ID,
    request: { provider: 'claude', model: 'big', prompt: 'mend the tax', params: {} },
    response: { content: 'done', tokensUsed: { input: 100, output: 20 }, durationMs: 2_000 },
    failovers: [],
    ...changes,
  };
}
