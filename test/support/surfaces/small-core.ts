import { ReefError } from '../../../src/protocol/errors.ts';
import type { JobView } from '../../../src/protocol/job-operations.ts';
import type {
  Caller,
  Core,
  OperationName,
  RunCore,
  TrustCore,
  WorktreeCore,
} from '../../../src/protocol/operations.ts';
import { sampleCode, sampleStates } from './sample-code.ts';
import { sampleCall, sampleRecord, sampleRun, sampleView, sampleWorktree } from './sample-runs.ts';
import { sampleEntry, sampleEvent, sampleJob } from './samples.ts';

export interface CoreCall {
  operation: OperationName;
  input: unknown;
  caller: Caller;
}

/**
 * The smallest thing that keeps the contract of `Core`: one job, which exists, and no other. It lets the surfaces be
 * tested for what they add; what the operations do is proved against the real one.
 */
export function smallCore(job: JobView = sampleJob(), changes: Partial<Core> = {}): { core: Core; calls: CoreCall[] } {
  const calls: CoreCall[] = [];
  const ref = () => ({ agentId: job.id, status: job.status });
  const find = (id: string) => {
    if (id !== '@last' && !job.id.startsWith(id)) throw new ReefError('job_not_found', `no job ${id}`);
  };
  const core: Core = {
    spawn: async () => ({ ...ref(), sandbox: job.sandbox }),
    status: async ({ id }) => {
      if (id !== undefined) find(id);
      return { jobs: [job] };
    },
    send: async ({ id }) => {
      find(id);
      return { ...ref(), delivered: true, messageId: 'm1' };
    },
    output: async ({ id }) => {
      find(id);
      return {
        ...ref(),
        events: [sampleEvent('progress', { kind: 'text', text: 'hello' })],
        nextCursor: '1',
        truncated: false,
      };
    },
    kill: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'killed', finalOutput: 'last words' };
    },
    wait: async () => ({ met: true, jobs: [job] }),
    interrupt: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'paused' };
    },
    resume: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'queued', launch: 2 };
    },
    ask_host: async () => ({ answer: 'deny' }),
    inbox: async () => ({ questions: job.questions.map((question) => sampleEntry(question)), notices: [] }),
    usage: async () => ({
      rows: [{ key: job.agent, ...sampleUse(job) }],
      totals: sampleUse(job),
      leftOut: 0,
    }),
    job_log: async ({ id }) => {
      find(id);
      const at = { from: 0, next: 6, size: 6 };
      return { agentId: job.id, launches: [1], launch: 1, text: 'hello\n', encoding: 'utf8', ...at };
    },
    events: async () => ({
      events: [sampleEvent('progress', { kind: 'turn', n: 1 })],
      nextCursor: '1',
      truncated: false,
    }),
    prune: async () => ({ entries: [], leftOut: 0, bytes: 0, limits: { days: 30, bytes: 0 } }),
    ...runsAndWorktrees(),
    ...sampleCode(),
    ...sampleStates(),
    ...changes,
  };
  const recorded = Object.entries(core).map(([name, run]) => [
    name,
    (input: unknown, caller: Caller, signal: AbortSignal) => {
      calls.push({ operation: name as OperationName, input, caller });
      return run(input as never, caller, signal);
    },
  ]);
  return { core: Object.fromEntries(recorded) as Core, calls };
}

const sampleUse = ({ usage }: JobView) => ({ ...usage, jobs: 1, unpriced: 0 });

/** One halted run in one worktree. */
function runsAndWorktrees(): RunCore & WorktreeCore & TrustCore {
  const commit = 'b'.repeat(40);
  const kept = {
    ref: 'refs/reef/discarded/one',
    command: 'reef worktree restore refs/reef/discarded/one',
    ignored: [],
  };
  return {
    run: async () => sampleRun({ status: 'queued' }),
    runs: async () => ({ runs: [sampleRun()] }),
    run_status: async () => ({ runs: [sampleRun()], view: sampleView() }),
    run_follow: async () => ({
      ...{ run: sampleRun(), from: 0, seq: sampleView().seq },
      differences: [{ at: [], value: sampleView() }],
    }),
    run_compare: async () => ({ task: sampleRun().task, attempts: [] }),
    run_review: async () => ({ runId: sampleRun().runId, jobId: 'job' }),
    run_control: async () => sampleRun({ status: 'running' }),
    run_from_pr: async () => ({
      signals: ['SIGNAL:CI_FAILED'],
      told: ['e2e failed'],
      run: sampleRun({ status: 'running' }),
    }),
    run_replay: async () => ({ runId: sampleRun().runId, walked: 'success', recorded: 'success', isSame: true }),
    run_log: async () => ({ runId: sampleRun().runId, visits: [] }),
    block_result: async () => ({ taken: true }),
    calls: async () => ({ calls: [sampleCall()] }),
    call_rerun: async () => ({ before: sampleCall(), jobId: sampleCall().jobId }),
    review: async () => ({ how: 'delivered', agentId: '01J', message: 'A person has reviewed your work.' }),
    worktrees: async () => ({ worktrees: [sampleWorktree()] }),
    worktree_create: async () => sampleRecord(),
    worktree_setup: async () => sampleWorktree({ setup: { state: 'done' } }),
    worktree_update: async () => ({ id: 'one', target: 'main', status: 'current', files: [] }),
    worktree_push: async () => ({
      ...{ id: 'one', remote: 'origin', branch: 'reef/one', commit, status: 'pushed', noted: [] },
    }),
    worktree_pr: async () => ({
      ...{ id: 'one', remote: 'origin', branch: 'reef/one', commit, status: 'current', noted: [] },
      address: 'https://forge.example/acme/shop/compare/main...reef/one',
    }),
    worktree_shell: async () => ({ path: '/tmp', isSandboxed: false, command: ['/bin/sh'], env: {} }),
    worktree_gates: async () => ({ id: 'one', tree: commit, gates: [{ gate: 'test', result: 'passed' }] }),
    base_gates: async () => ({ commit, gates: [{ gate: 'test', command: ['npm', 'test'], result: 'passed' }] }),
    diff: async () => ({
      base: commit,
      files: [{ status: 'M', path: 'src/tax.ts' }],
      patch: '-a\n+b\n',
      truncated: false,
      drift: { unplanned: [], untouched: [] },
    }),
    accept: async () => ({ status: 'merged', commit, noted: [] }),
    worktree_discard: async () => kept,
    worktree_restore: async () => sampleRecord(),
    worktree_hold: async () => kept,
    worktree_prune: async () => ({ entries: [] }),
    conflicts: async () => ({ report: { status: 'CLEAR', complete: true, clashes: [] }, worktrees: [] }),
    trust: async () => ({ repository: '/repo', items: [] }),
  };
}
