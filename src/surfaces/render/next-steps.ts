import type { JobView } from '../../protocol/job-operations.ts';
import type { RunSummary } from '../../protocol/run-operations.ts';

/** A command to type, with `ID` for the task and `BLOCKER` for the one it waits for, and what it is for. */
interface Step {
  type: string;
  to: string;
}

interface StateRow {
  /** What has happened, for somebody who sees the state for the first time. */
  means: string;
  /** The likeliest first. Never empty: no state is a dead end. */
  steps: readonly [Step, ...Step[]];
}

const step = (type: string, to: string): Step => ({ type, to });
const SEE = step('reef diff ID', 'see what it did');
const MERGE = step('reef accept ID', 'merge it');
const GO_ON = step('reef run continue ID "…"', 'go on with it; say what it should do differently');
const DROP = step('reef discard ID', 'drop it; its work is kept on a git ref');
const RESTORE = step('reef worktree restore ID', 'bring its files back');
const END = step('reef kill ID', 'end it');
const AGAIN = step('reef spawn claude "…"', 'start another one');

/**
 * Every state that a task can be in, and what moves it on. Messages, and the table in `docs/states.md`, are made from
 * this, and a test walks it.
 */
export const TASK_STATES = {
  queued: {
    means: 'It waits for its turn: a task that clashes with its plan is at work, or as many as may run at once are.',
    steps: [step('reef run show ID --follow', 'watch it'), step('reef conflicts', 'see what clashes'), END],
  },
  behind: {
    means:
      'It waits for work that goes on only when a person acts: ended and not merged, set aside, or with a question.',
    steps: [
      step('reef accept BLOCKER', 'merge what it waits for'),
      step('reef discard BLOCKER', 'drop that; its work is kept on a git ref'),
      step('reef inbox', 'see whether it asks something'),
      END,
    ],
  },
  setup_failed: {
    means: 'The set-up of its worktree failed, so no agent has started.',
    steps: [step('reef run retry ID', 'run the set-up again, and go on'), step('reef run abort ID', 'end the run')],
  },
  working: {
    means: 'An agent or a gate is at work.',
    steps: [step('reef run show ID --follow', 'watch it'), step('reef output ID --follow', 'watch its agent'), END],
  },
  asking: {
    means: 'An agent asks something.',
    steps: [step('reef inbox', 'see the question, and what to type'), END],
  },
  halted: {
    means: 'The run cannot go on by itself.',
    steps: [
      step('reef run resume ID', 'go on; add "what it should know" at the end'),
      step('reef run retry ID', 'do this block once more'),
      step('reef run skip ID', 'go on as if the block had succeeded'),
      step('reef run abort ID', 'end the run; the worktree stays'),
    ],
  },
  success: { means: 'The workflow has finished and every gate passed.', steps: [SEE, MERGE, DROP] },
  failed: {
    means: 'The workflow ended without success.',
    steps: [step('reef run show ID', 'see the whole run'), SEE, GO_ON, MERGE, DROP],
  },
  aborted: { means: 'Somebody ended the run; its worktree is as it was.', steps: [SEE, GO_ON, MERGE, DROP] },
  gates_failed: {
    means: 'A gate failed on what would be merged.',
    steps: [
      step('reef worktree update ID', 'bring the target in, to mend what it breaks'),
      step('reef worktree gates ID', 'run the gates again, after you mended it'),
      ...[MERGE, DROP],
    ],
  },
  conflict: {
    means: 'The target has changed the same lines.',
    steps: [
      SEE,
      step('reef worktree update ID --agent claude', 'let an agent resolve it'),
      step('reef worktree update ID', 'bring the target in, and edit the marked files yourself'),
      step('reef accept ID', 'merge it after that'),
      DROP,
    ],
  },
  merge_waits: {
    means: 'It is merged as soon as the checkout of the target has no uncommitted changes.',
    steps: [step('git status', 'see what is in the way'), step('reef run show ID --wait', 'wait for the merge')],
  },
  not_merged: { means: 'The merge was refused.', steps: [SEE, MERGE, DROP] },
  merged: { means: 'Its work is merged.', steps: [step('reef run "…"', 'start the next task')] },
  put_aside: { means: 'It was discarded or held; its work is kept.', steps: [RESTORE] },
  job_queued: { means: 'It waits for a free place.', steps: [step('reef wait ID', 'wait for it'), END] },
  job_working: {
    means: 'The agent is at work.',
    steps: [step('reef output ID --follow', 'watch it'), step('reef send ID "…"', 'talk to it'), END],
  },
  job_paused: {
    means: 'The agent has stopped and keeps its session: idle, interrupted, out of budget, or a limit of its provider.',
    steps: [step('reef resume ID "…"', 'go on with it'), END],
  },
  job_ended: {
    means: 'The agent is done.',
    steps: [step('reef output ID', 'see what it did'), step('reef resume ID "…"', 'ask for more')],
  },
  job_failed: {
    means: 'The agent failed, or was lost when the machine stopped.',
    steps: [step('reef output ID', 'see why'), step('reef resume ID', 'try again in the same session'), AGAIN],
  },
  job_killed: { means: 'Somebody ended it.', steps: [step('reef output ID', 'see what it did'), AGAIN] },
} as const satisfies Record<string, StateRow>;

export type TaskState = keyof typeof TASK_STATES;

const RUN_STATES: Record<RunSummary['status'], TaskState> = {
  queued: 'queued',
  running: 'working',
  awaiting_input: 'asking',
  halted: 'halted',
  success: 'success',
  failure: 'failed',
  broken: 'failed',
  aborted: 'aborted',
};

const OBSTACLES: Readonly<Record<string, TaskState>> = {
  setup_failed: 'setup_failed',
  gates_failed: 'gates_failed',
  merge_conflict: 'conflict',
};

export function stateOfRun({ status, merge, obstacle, path, behind }: RunSummary): TaskState {
  if (behind) return 'behind';
  const isOver = status === 'success' || status === 'failure' || status === 'broken' || status === 'aborted';
  if (merge === 'merged') return 'merged';
  if (merge === 'waiting') return 'merge_waits';
  if (isOver && path === null) return 'put_aside';
  const known = obstacle === undefined ? undefined : OBSTACLES[obstacle];
  return known ?? (merge === 'not_merged' ? 'not_merged' : RUN_STATES[status]);
}

const JOB_STATES: Record<JobView['status'], TaskState> = {
  queued: 'job_queued',
  running: 'job_working',
  awaiting_input: 'asking',
  paused: 'job_paused',
  completed: 'job_ended',
  error: 'job_failed',
  stale: 'job_failed',
  killed: 'job_killed',
};

export const stateOfJob = ({ status, behind }: Pick<JobView, 'status' | 'behind'>): TaskState =>
  behind ? 'behind' : JOB_STATES[status];

/** The lines that say what to type, aligned; about this task. */
export function nextLines(state: TaskState, id: string, [blocker = '']: readonly string[] = []): string[] {
  const steps: readonly Step[] = TASK_STATES[state].steps;
  const typed = steps.map(({ type }) => type.replace(/\bID\b/, id).replace(/\bBLOCKER\b/, blocker));
  const width = Math.max(...typed.map((text) => text.length));
  return steps.map(({ to }, index) => `  ${(typed[index] ?? '').padEnd(width)}  ${to}`);
}
