import { z } from 'zod';
import type { Difference } from './differences.ts';
import { maxDepthSchema } from './jobs.ts';
import { operation, PEOPLE_AND_CLIENTS } from './operation.ts';
import { haltAnswerSchema, runBudgetSchema, runViewSchema } from './workflow.ts';
import { gateStandingSchema, planSchema, taskName } from './worktrees.ts';

const text = z.string();
const differenceSchema = z.strictObject({
  at: z.array(text).describe('The fields that lead there'),
  keep: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Of a list: so many of its first entries stay before those of value'),
  value: z.unknown().optional().describe('What stands there now; absent: nothing does'),
}) satisfies z.ZodType<Difference>;
const id = taskName.describe('Run id, any unique prefix of it, or @last for the newest');
const MAX_WAIT_MS = 45_000;

export const runSummarySchema = z.strictObject({
  runId: text,
  task: text,
  /** The node it starts with. */
  workflow: text,
  worktree: text,
  /** The branch it is merged into; absent if it started from a commit. */
  target: text.optional(),
  /** What to know of its worktree: submodules that are not checked out, a start from no branch. */
  notes: z.array(text).optional(),
  /** Null until the worktree is made, and after it is gone. */
  path: text.nullable(),
  status: z.enum(['queued', 'running', 'awaiting_input', 'halted', 'success', 'failure', 'aborted', 'broken']),
  block: text.nullable(),
  visit: z.number().int().nullable(),
  /** Why it does not continue: a halt, worktrees it waits for, or what keeps it from being merged. */
  because: text.optional(),
  /** Of a queued run: worktrees that it waits for, and in which nothing goes on unless a person acts. */
  behind: z.array(text).optional(),
  /** Of a run that succeeded and was merged, or was to be. `waiting`: it is merged when the checkout of the target is clean. */
  merge: z.enum(['merged', 'waiting', 'not_merged']).optional(),
  /** Code of the error that keeps it from starting or from being merged. */
  obstacle: text.optional(),
  /** The run that it goes on with, and the one that goes on with it. */
  continues: text.optional(),
  continuedBy: text.optional(),
  /** Several agents try the task, each in a worktree of its own: this one, and the runs of the others. */
  agent: text.optional(),
  attempts: z.array(text).optional(),
  /** The job that started it: its agents are children of that job. */
  parentId: text.optional(),
  createdAt: text,
  endedAt: text.optional(),
  /** Of a run that has ended: where its seconds went. `rest` is Reef's own time, and that of waiting for a place or for a person. */
  times: z.strictObject({ setUp: z.number(), agents: z.number(), gates: z.number(), rest: z.number() }).optional(),
});
export type RunSummary = z.infer<typeof runSummarySchema>;

/** It goes on, or begins, without a person. */
export function isUnderWay({ status, behind }: Pick<RunSummary, 'status' | 'behind'>): boolean {
  return status === 'running' || (status === 'queued' && behind === undefined);
}

const run = operation({
  effect: 'acts',
  rest: { method: 'POST', path: '/v1/runs' },
  summary: 'Run a workflow on a task, in a worktree of its own. Returns at once; follow the run with run_status.',
  input: z.strictObject({
    task: z.string().min(1).max(1_048_576).describe('What should be done, in words'),
    workflow: z.string().min(1).max(128).optional().describe('A node of the workflow file, test-fix or full-gates'),
    agent: z.string().min(1).max(200).optional().describe('Agent for blocks that name none; default: claude'),
    fallbacks: z
      .array(z.string().min(1).max(200))
      .max(8)
      .optional()
      .describe('Take over in this order at a limit, an outage or a missing log-in; default: as configured'),
    agents: z
      .array(z.string().min(1).max(200))
      .min(2)
      .max(8)
      .optional()
      .describe('Instead of agent: each tries the task in a worktree of its own'),
    model: z.string().min(1).max(200).optional().describe('Model for the same blocks'),
    plan: planSchema.describe('Files or globs that the task will change; a clash with other work makes it wait'),
    base: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('Branch or commit to start from; default: the current branch'),
    cwd: z.string().min(1).max(4_096).optional().describe('Checkout to start from; default: the main one'),
    priority: z.number().int().min(1).max(1_000).optional().describe('Place in the queue; 1 goes first'),
    anyway: z.boolean().default(false).describe('Do not wait for tasks with clashing plans'),
    step: z.boolean().default(false).describe('Ask before every block'),
    autoResume: z.boolean().default(true).describe('Continue by itself when a rate limit is over'),
    accept: z.boolean().default(false).describe('Merge after success, as soon as the checkout of the target is clean'),
    // A copy of the shape: some MCP clients drop a server whose schemas contain references.
    budget: z.strictObject(runBudgetSchema.shape).default({}),
    sandbox: z
      .boolean()
      .optional()
      .describe('True: refuse to run agents and gates without a sandbox. False: use none. Absent: as configured'),
    yes: z
      .boolean()
      .default(false)
      .describe('Allow everything the agents ask permission for; needs a sandbox, or unsafe'),
    unsafe: z.boolean().default(false),
    maxDepth: maxDepthSchema,
    key: z.string().min(1).max(200).optional().describe('Repeating a call with the same key starts nothing new'),
  }),
  output: runSummarySchema,
});

const runs = operation({
  effect: 'reads',
  noTool: 'run_status without an id lists them',
  rest: { method: 'GET', path: '/v1/runs' },
  summary: 'List active runs, and the last ones that ended.',
  input: z.strictObject({ all: z.boolean().default(false) }),
  output: z.strictObject({ runs: z.array(runSummarySchema) }),
});

const run_status = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/runs/:id' },
  summary: 'Show a run with its graph, path, gates and open question; without an id, all runs.',
  input: z.strictObject({
    id: id.optional(),
    waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(0).describe('Wait up to this long until it ends or asks'),
    until: z
      .enum(['needs_input', 'done'])
      .default('needs_input')
      .describe('With waitMs: what to wait for; done goes on waiting while a question is open'),
    after: z.number().int().min(0).optional().describe('With waitMs: return as soon as seq is greater than this'),
  }),
  output: z.strictObject({
    runs: z.array(runSummarySchema),
    /** Of the one asked for, once it has begun. */
    view: runViewSchema.nullable(),
  }),
});

const run_follow = operation({
  effect: 'reads',
  noTool: 'run_status waits for an agent',
  rest: { method: 'GET', path: '/v1/runs/:id/follow' },
  summary: 'Follow a run: how it stands, and what has become different in its view since it was at `after`.',
  input: z.strictObject({
    id,
    after: z.number().int().min(0).default(0).describe('The seq of the view that is known; 0: none is'),
    waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(0).describe('Wait up to this long until there is more'),
  }),
  output: z.strictObject({
    run: runSummarySchema,
    /** The seq of the view that the differences are from: that of `after`, or 0 where all of it is told. */
    from: z.number().int(),
    /** The seq of the view that they lead to; 0: the run has not begun. */
    seq: z.number().int(),
    differences: z.array(differenceSchema),
  }),
});

const attemptSchema = z.strictObject({
  ...runSummarySchema.pick({ runId: true, worktree: true, status: true, merge: true, because: true }).shape,
  agent: text,
  /** What each gate said of its present files. */
  gates: z.array(gateStandingSchema),
  /** Of all changes since it left its target; null when its worktree is gone. */
  diff: z.strictObject({ files: z.number(), added: z.number(), removed: z.number() }).nullable(),
  tokens: z.number(),
  costUsd: z.number().nullable(),
  seconds: z.number().optional(),
  /** Of an agent that has read the changes of all of them. */
  review: z.strictObject({ rank: z.number(), remark: text }).optional(),
});
export type Attempt = z.infer<typeof attemptSchema>;

const run_compare = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'a person compares and chooses',
  rest: { method: 'GET', path: '/v1/runs/:id/attempts' },
  summary:
    'Compare the runs of several agents on one task, the best first: success, gates, size of the change, cost. Accepting one drops the others.',
  input: z.strictObject({ id }),
  output: z.strictObject({ task: text, attempts: z.array(attemptSchema) }),
});

const run_review = operation({
  effect: 'acts',
  for: ['person'],
  noTool: 'a person compares and chooses',
  rest: { method: 'POST', path: '/v1/runs/:id/attempts/review' },
  summary:
    'Let an agent read what several agents made of one task, and rank it. It changes nothing; run_compare shows what it says.',
  input: z.strictObject({ id, agent: z.string().min(1).max(200) }),
  output: z.strictObject({ runId: text, jobId: text }),
});

const run_control = operation({
  effect: 'acts',
  for: PEOPLE_AND_CLIENTS,
  rest: { method: 'POST', path: '/v1/runs/:id/control' },
  summary:
    'Answer a halted run (approve, resume, retry, skip, abort), go on with one that has ended (continue), put it aside (hold), or turn step mode on or off (step, go).',
  input: z.strictObject({
    id,
    verb: z.enum(['approve', 'resume', 'retry', 'skip', 'abort', 'hold', 'step', 'go', 'continue']),
    guidance: z.string().min(1).max(1_048_576).optional().describe('What the next agent should know'),
    ...haltAnswerSchema.pick({ signal: true }).shape,
    block: text.optional().describe('Needed when several branches halt'),
    visit: z.number().int().optional(),
    branch: text.optional(),
    key: z.string().min(1).max(200).optional(),
  }),
  output: runSummarySchema,
});

const run_from_pr = operation({
  effect: 'acts',
  for: ['person'],
  noTool: 'what a forge says is brought back by people',
  rest: { method: 'POST', path: '/v1/runs/:id/from-pr' },
  summary: 'Go on with a run on what the checks and reviewers of its pull request found.',
  input: z.strictObject({
    id,
    guidance: z.string().min(1).max(1_048_576).optional().describe('What the next agent should know besides'),
    key: z.string().min(1).max(200).optional(),
  }),
  output: z.strictObject({
    signals: z.array(z.enum(['SIGNAL:CI_FAILED', 'SIGNAL:REVIEW_CHANGES'])),
    /** A line for each check and each remark. */
    told: z.array(text),
    run: runSummarySchema,
  }),
});

const run_replay = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'a check of Reef itself',
  rest: { method: 'GET', path: '/v1/runs/:id/replay' },
  summary: 'Check that the recorded results of a run lead to the same end again. Starts nothing.',
  input: z.strictObject({ id }),
  output: z.strictObject({ runId: text, walked: text.nullable(), recorded: text, isSame: z.boolean() }),
});

const run_log = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'run_status has the end of what failed',
  rest: { method: 'GET', path: '/v1/runs/:id/log' },
  summary: 'Print what the blocks of a run left, whole: the output of gates, the results of agents.',
  input: z.strictObject({ id, block: z.string().min(1).max(200).optional() }),
  output: z.strictObject({
    runId: text,
    visits: z.array(z.strictObject({ block: text, visit: z.number().int(), type: text, text })),
  }),
});

const segmentContent = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.record(text, z.unknown()),
  z.array(z.unknown()),
]);

const block_result = operation({
  effect: 'settles',
  for: ['job'],
  noRest: 'only the agent of a block calls it',
  summary:
    'Report the result of the block you work on. If something is wrong with it you are told at once: correct it and call again.',
  input: z.strictObject({
    signal: z.string().min(1).max(100).describe('One of the signals that your instructions list'),
    summary: z.string().min(1).max(65_536).describe('What was done'),
    segments: z
      .array(z.strictObject({ type: text, content: segmentContent, filePath: text.optional() }))
      .max(1_000)
      .optional(),
    newFiles: z.array(text).max(5_000).optional().describe('Unplanned files that the task needs'),
  }),
  output: z.strictObject({ taken: z.literal(true) }),
});

const callSchema = z.strictObject({
  callId: text,
  timestamp: text,
  runId: text.nullable(),
  block: text.nullable(),
  visit: z.number().int().nullable(),
  jobId: text,
  request: z.strictObject({ provider: text, model: text.nullable(), prompt: text, params: z.record(text, z.json()) }),
  response: z
    .strictObject({
      content: text,
      tokensUsed: z.strictObject({ input: z.number(), output: z.number() }),
      durationMs: z.number(),
    })
    .nullable(),
  error: text.optional(),
  /** Retries and changes of credentials before the answer. */
  failovers: z.array(text),
});
export type Call = z.infer<typeof callSchema>;

const calls = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'prompts are long: read them at a terminal',
  rest: { method: 'GET', path: '/v1/calls' },
  summary: 'List model calls, newest first, one for each turn of an agent: of one run, one job, or all.',
  input: z.strictObject({
    run: id.optional(),
    job: z.string().min(1).max(64).optional(),
    call: z.string().min(1).max(100).optional().describe('Only this call'),
    limit: z.number().int().min(1).max(200).default(50),
  }),
  output: z.strictObject({ calls: z.array(callSchema) }),
});

const call_rerun = operation({
  effect: 'acts',
  for: ['person'],
  noTool: 'it is paid for: at a terminal',
  rest: { method: 'POST', path: '/v1/calls/:call/rerun' },
  summary: 'Repeat a call with the same agent in a copy of the worktree. The run and its worktree are not touched.',
  input: z.strictObject({ call: z.string().min(1).max(100), prompt: z.string().min(1).max(1_048_576).optional() }),
  output: z.strictObject({ before: callSchema, jobId: text }),
});

export const runOperations = {
  run,
  runs,
  run_status,
  run_compare,
  run_review,
  run_control,
  run_from_pr,
  run_replay,
  run_follow,
  run_log,
  block_result,
  calls,
  call_rerun,
};
