import { z } from 'zod';

export const jobStatusSchema = z.enum([
  'queued',
  'running',
  'awaiting_input',
  'paused',
  'completed',
  'error',
  'killed',
  'stale',
]);
export type JobStatus = z.infer<typeof jobStatusSchema>;

export const modeSchema = z.enum(['headless', 'headful']);

const count = z.number().int().nonnegative();

export const usageSchema = z.strictObject({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
  /** Null when the agent reports no cost. */
  costUsd: z.number().nonnegative().nullable(),
  /** True when the agent does not report all of it. */
  partial: z.boolean(),
});
export type Usage = z.infer<typeof usageSchema>;

export const budgetSchema = z.strictObject({
  tokens: count.positive().optional(),
  turns: count.positive().optional(),
  seconds: count.positive().optional(),
});
export type Budget = z.infer<typeof budgetSchema>;

export const maxDepthSchema = count
  .max(100)
  .optional()
  .describe('How many levels of child jobs are allowed, counted from the root job');

const pauseReasonSchema = z.enum(['idle', 'interrupted', 'rate_limit', 'outage', 'turn_failed', 'budget']);
export type PauseReason = z.infer<typeof pauseReasonSchema>;

/** `auto`: a sandbox where the machine can make one. `require`: start nothing without. */
export const sandboxModeSchema = z.enum(['auto', 'require', 'off']);
export type SandboxMode = z.infer<typeof sandboxModeSchema>;

/** Which wall a job has: Reef's, that of the agent itself, or none. */
export const sandboxKindSchema = z.enum(['none', 'agent', 'bubblewrap']);
export type SandboxKind = z.infer<typeof sandboxKindSchema>;

export const jobSchema = z.strictObject({
  id: z.string(),
  agent: z.string(),
  mode: modeSchema,
  task: z.string(),
  cwd: z.string(),
  /** Who started it: a user, a job, a run or an MCP client. */
  by: z.string().optional(),
  /** The id of the worktree it works in. */
  worktree: z.string().optional(),
  model: z.string().optional(),
  parentId: z.string().optional(),
  rootId: z.string(),
  depth: count,
  /** Of the jobs below it; absent when there is no limit of its own. */
  maxDepth: count.optional(),
  /** The agent's own session id: what `resume` continues. */
  sessionId: z.string().optional(),
  /** Launches so far; resume adds one. */
  launch: count,
  status: jobStatusSchema,
  reason: z.union([pauseReasonSchema, z.enum(['exit_unknown', 'budget_exhausted'])]).optional(),
  resumeAt: z.string().optional(),
  /** Keep the process after a turn, for a next message. */
  keep: z.boolean(),
  /** It may look but not change: the agent's own switch for that is on. */
  readonly: z.boolean().optional(),
  /** Reef allows every permission. */
  yes: z.boolean(),
  sandbox: sandboxKindSchema,
  createdAt: z.string(),
  startedAt: z.string().optional(),
  endedAt: z.string().optional(),
  exitCode: z.number().int().optional(),
  signal: z.string().optional(),
  pid: count.optional(),
  pidStartTime: z.string().optional(),
  bootId: z.string().optional(),
  usage: usageSchema,
  /** Model answers seen. */
  turns: count,
  /** Without waiting and pauses. */
  workedMs: count,
  budget: budgetSchema,
  agentVersion: z.string().optional(),
  /** Names of keys and endpoints that it got from the user's shell, for want of a log-in of its own. */
  shellKeys: z.array(z.string()).optional(),
  unknownMessages: count,
});
export type Job = z.infer<typeof jobSchema>;

export const questionKindSchema = z.enum(['permission', 'choice', 'text']);
export type QuestionKind = z.infer<typeof questionKindSchema>;

const choiceSchema = z.strictObject({
  id: z.string(),
  label: z.string(),
  description: z.string().optional(),
});

/** What a field of a form takes, as an MCP server tells it. */
export const fieldSchema = z.strictObject({
  name: z.string(),
  type: z.enum(['string', 'number', 'integer', 'boolean', 'array']),
  required: z.boolean(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: count.optional(),
  maxLength: count.optional(),
  format: z.string().optional(),
  minItems: count.optional(),
  maxItems: count.optional(),
});
export type Field = z.infer<typeof fieldSchema>;

/** The payload of `needs_input`, and an entry of the inbox. */
export const questionSchema = z.strictObject({
  question: z.string(),
  options: z.array(z.string()).optional(),
  kind: questionKindSchema,
  questionId: z.string(),
  requestId: z.string(),
  fingerprint: z.string(),
  choices: z.array(choiceSchema).optional(),
  multi: z.boolean(),
  freeText: z.boolean(),
  secret: z.boolean(),
  header: z.string().optional(),
  group: z.strictObject({ index: count, of: count }).optional(),
  tool: z.string().optional(),
  input: z.unknown().optional(),
  diff: z.string().optional(),
  /** It is a field of a form: an answer that does not fit is refused, and `deny` declines the whole form. */
  field: fieldSchema.optional(),
  /** Of a permission: what `allow_session` and `allow_always` would allow, in words, and the name it is kept by. */
  grant: z.strictObject({ covers: z.string(), fingerprint: z.string() }).optional(),
  /** Job ids from the root to the one that asks. */
  path: z.array(z.string()),
  /** It is longer than what is shown here, and cannot be allowed under this fingerprint: the whole has another one. */
  cut: z.strictObject({ bytes: count, isKept: z.boolean() }).optional(),
});
export type Question = z.infer<typeof questionSchema>;

export const decisionSchema = z.enum(['allow_once', 'allow_session', 'allow_always', 'deny']);
export type Decision = z.infer<typeof decisionSchema>;
