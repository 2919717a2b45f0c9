import { z } from 'zod';
import { agentEventSchema } from './events.ts';
import {
  budgetSchema,
  decisionSchema,
  jobSchema,
  jobStatusSchema,
  maxDepthSchema,
  modeSchema,
  questionSchema,
  sandboxKindSchema,
} from './jobs.ts';
import { operation } from './operation.ts';
import { runSummarySchema } from './run-operations.ts';
import { planSchema, taskName } from './worktrees.ts';

export const jobId = taskName.describe(
  'A task: id of its job, run or worktree, a unique beginning of one, @last, or the beginning of its title',
);
const id = jobId;
export const MAX_WAIT_MS = 45_000;

export const eventPageSchema = z.strictObject({
  events: z.array(agentEventSchema),
  nextCursor: z.string(),
  /** There are more events. */
  truncated: z.boolean(),
});

const jobViewSchema = jobSchema.extend({
  awaiting_input: z.boolean(),
  /** Finer than the status. Derived, never stored. */
  activity: z.enum(['starting', 'working', 'retrying', 'waiting', 'idle', 'stalled', 'ending', 'ended', 'queued']),
  /** Of a paused job: when it goes on by itself. */
  goesOnAt: z.string().exactOptional(),
  /** Of a queued job: worktrees that its own waits for, and in which nothing goes on unless a person acts. */
  behind: z.array(z.string()).exactOptional(),
  questions: z.array(questionSchema),
  lastOutput: z.string(),
});
export type JobView = z.infer<typeof jobViewSchema>;

const inboxEntrySchema = questionSchema.extend({
  /** The job that asks, or the run that halted. */
  jobId: z.string(),
  /** The run that halted, or that this job or one above it works for. */
  runId: z.string().optional(),
  block: z.string().optional(),
  agent: z.string(),
  task: z.string(),
  cwd: z.string(),
  askedAt: z.string(),
  /** Of a fleet: where it is asked, and who has answered while the host passes that on. */
  host: z.string().exactOptional(),
  repository: z.string().exactOptional(),
  answeredBy: z.string().exactOptional(),
});
export type InboxEntry = z.infer<typeof inboxEntrySchema>;

const runsNamed = z.array(runSummarySchema).exactOptional().describe('The runs that were named, if any');
const jobRef = z.strictObject({ agentId: z.string(), status: jobStatusSchema });

const spawn = operation({
  effect: 'acts',
  rest: { method: 'POST', path: '/v1/jobs' },
  summary: 'Start a coding agent on a task. Returns at once; follow the job with wait or output.',
  input: z.strictObject({
    agent: z
      .string()
      .min(1)
      .max(200)
      .describe('claude, codex, codex-exec, gemini, opencode, acp:<name>, native:<name> or scripted:<file>'),
    task: z.string().min(1).describe('What the agent should do, in words'),
    cwd: z.string().optional().describe('Folder to work in; default: the root of the repository'),
    model: z.string().max(200).optional(),
    mode: modeSchema.default('headless'),
    keep: z.boolean().default(false).describe('Keep the process after its turn, ready for another message'),
    budget: budgetSchema.default({}),
    sandbox: z
      .boolean()
      .optional()
      .describe('True: refuse to start without a sandbox. False: use none. Absent: as configured, one where it works'),
    yes: z
      .boolean()
      .default(false)
      .describe('Allow everything the agent asks permission for; needs a sandbox, or unsafe'),
    unsafe: z.boolean().default(false),
    worktree: z
      .string()
      .max(1_000)
      .optional()
      .describe(
        'Worktree to work in, by id, title or path, or a name for a new one; if empty, one named after the task',
      ),
    plan: planSchema.describe('With a new worktree: files or globs that the task will change; a clash makes it wait'),
    anyway: z.boolean().default(false).describe('With a new worktree: do not wait for tasks with clashing plans'),
    parentId: id.optional().describe('The job that starts this one as its child'),
    maxDepth: maxDepthSchema,
    key: z.string().min(1).max(200).optional().describe('Repeating a call with the same key starts nothing new'),
  }),
  output: jobRef.extend({
    worktree: z.string().optional(),
    sandbox: sandboxKindSchema,
    note: z.string().exactOptional().describe('What this agent cannot do that was asked for'),
  }),
});

const status = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/jobs/:id?' },
  summary: 'Show one task, or all active jobs and the last 20 that ended.',
  input: z.strictObject({ id: id.optional() }),
  output: z.strictObject({ jobs: z.array(jobViewSchema), runs: runsNamed }),
});

const send = operation({
  effect: 'acts',
  rest: { method: 'POST', path: '/v1/jobs/:id/input' },
  summary: 'Send a message to an agent, or answer its open question with a text, an option or a decision.',
  input: z.strictObject({
    id,
    text: z.string().min(1).max(1_048_576).optional(),
    option: z
      .array(z.union([z.string(), z.number().int()]))
      .min(1)
      .max(20)
      .optional()
      .describe('Labels, or numbers counted from 1'),
    decision: decisionSchema.optional().describe('Only for permissions; needs the fingerprint of the question'),
    reason: z.string().max(16_384).optional(),
    questionId: z.string().max(400).optional().describe('Needed when several questions are open'),
    fingerprint: z.string().max(100).optional(),
    key: z.string().min(1).max(200).optional().describe('Repeating a call with the same key sends nothing again'),
  }),
  output: jobRef.extend({ delivered: z.boolean(), messageId: z.string() }),
});

const output = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/jobs/:id/events' },
  summary: 'Read the events of a job, starting after a cursor.',
  input: z.strictObject({
    id,
    since: z.string().max(64).optional().describe('A nextCursor, or an ISO-8601 time'),
    before: z.number().int().min(1).optional().describe('Instead of since: the last events before this seq'),
    limit: z.number().int().min(1).max(1000).default(200),
    waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(0).describe('Wait up to this long for a first event'),
  }),
  output: eventPageSchema.extend({ agentId: z.string(), status: jobStatusSchema }),
});

const kill = operation({
  effect: 'ends',
  rest: { method: 'DELETE', path: '/v1/jobs/:id' },
  summary: 'End a job or a run, and everything it started.',
  input: z.strictObject({
    id,
  }),
  output: jobRef.extend({ finalOutput: z.string() }),
});

const wait = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/wait' },
  summary:
    'Wait until a job asks something or ends. Returns at once if that has already happened, or can no longer happen.',
  input: z.strictObject({
    ids: z.array(id).max(100).default([]).describe('Default: all active jobs'),
    until: z
      .array(z.enum(['needs_input', 'done', 'idle']))
      .min(1)
      .default(['needs_input', 'done']),
    timeoutMs: z.number().int().min(0).max(MAX_WAIT_MS).default(MAX_WAIT_MS),
  }),
  output: z.strictObject({
    /** False when the time was up first, or when it can no longer happen. */
    met: z.boolean(),
    because: z
      .string()
      .exactOptional()
      .describe('Why it cannot happen unless somebody acts; waiting again is of no use'),
    jobs: z.array(jobViewSchema),
    runs: runsNamed,
  }),
});

const interrupt = operation({
  effect: 'settles',
  rest: { method: 'POST', path: '/v1/jobs/:id/interrupt' },
  summary: 'Stop what an agent is doing, but keep the job and its session.',
  input: z.strictObject({ id }),
  output: jobRef,
});

const resume = operation({
  effect: 'acts',
  rest: { method: 'POST', path: '/v1/jobs/:id/resume' },
  summary: "Continue a paused, completed, failed or stale job in the agent's own session.",
  input: z.strictObject({
    id,
    text: z.string().min(1).max(1_048_576).optional(),
    key: z.string().min(1).max(200).optional().describe('Repeating a call with the same key resumes nothing again'),
  }),
  output: jobRef.extend({ launch: z.number().int() }),
});

const askHost = operation({
  effect: 'settles',
  for: ['job'],
  noTool: 'the proxy of a sandbox calls it',
  noRest: 'the proxy of a sandbox calls it',
  summary: 'Ask whether programs in the sandbox of a job may connect to a host that nobody named.',
  input: z.strictObject({
    host: z.string().regex(/^[a-z0-9._:-]{1,253}$/),
    port: z.number().int().min(1).max(65_535),
    questionId: z.string().max(400).optional().describe('Of an earlier answer: only what has become of that question'),
    waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(0).describe('Wait up to this long for an answer'),
  }),
  output: z.strictObject({
    /** `over`: withdrawn, or too long ago. */
    answer: z.enum(['open', 'allow', 'allow_once', 'deny', 'over']),
    questionId: z.string().exactOptional(),
  }),
});

const inbox = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/inbox' },
  summary: 'List the open questions of all jobs, including child jobs, and of halted runs.',
  input: z.strictObject({
    whole: z
      .string()
      .min(6)
      .max(100)
      .optional()
      .describe('The beginning of the fingerprint of a question that is cut: shows only that one, and all of it'),
  }),
  output: z.strictObject({
    questions: z.array(inboxEntrySchema),
    /** News that need no answer: of worktrees, and of jobs that have stopped and go on later or when somebody says so. */
    notices: z.array(
      z.strictObject({
        at: z.string(),
        kind: z.string(),
        worktreeId: z.string().exactOptional(),
        jobId: z.string().exactOptional(),
        message: z.string(),
      }),
    ),
  }),
});

export const jobOperations = { spawn, status, send, output, kill, wait, interrupt, resume, inbox, ask_host: askHost };
