import { z } from 'zod';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

const count = z.number().int().nonnegative();
const positive = z.number().int().positive();
const text = z.string();
const json: z.ZodType<Json> = z.json();

/** Node and block names. A block's id is `Node__Name`, so neither contains two underscores in a row. */
const NAME = '^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,127}$';
const SIGNAL = '^SIGNAL:[A-Z][A-Z0-9_]{0,63}$';
const ACTION =
  '^(JUMP:[^:\\s]+|CALL:[^:\\s]+(:[^:\\s]+)?|RETURN|HALT_AND_FLAG|FORK:[^:,\\s]+(,[^:,\\s]+)+(:[^:\\s]+)?)$';

const budgetShape = {
  tokens: positive.optional(),
  turns: positive.optional(),
  seconds: positive.optional(),
  usd: z.number().positive().optional(),
};
export const runBudgetSchema = z
  .strictObject(budgetShape)
  .meta({ id: 'Budget', description: 'At 100 % the turn is interrupted' });
export type RunBudget = z.infer<typeof runBudgetSchema>;

const bindSchema = z.strictObject({ to: text, from: text.max(1024) });

/** The patterns are for editors; `reef workflow check` explains faults in words. */
export const transitionSchema = z
  .object({
    on_signal: text.meta({ pattern: SIGNAL }),
    action: text.meta({ pattern: ACTION }),
    guard: text.max(1024).optional(),
    bind_args: z.array(bindSchema).max(64).optional(),
    join: z.enum(['all', 'any']).optional(),
    isolation: z.enum(['shared', 'worktree']).optional(),
  })
  .meta({ id: 'Transition' });
export type Transition = z.infer<typeof transitionSchema>;

export const blockSchema = z
  .object({
    worker: text.describe('Internal:<name>, or Agent:<roster entry or agent>'),
    instructions: text.optional(),
    artifacts: z.array(text).max(100).optional().describe('Files of the worktree shown to the worker'),
    validationSchema: text.optional().describe('CodeOnly, CodeAndExplanation, or a name in schemas'),
    context: z
      .array(z.union([text, z.record(text, json)]))
      .max(100)
      .optional(),
    context_budget: count.optional(),
    payload_merge_strategy: z.array(text).max(100).optional(),
    returns_to: text.optional(),
    approve: z.boolean().optional().describe('Ask a person before each visit'),
    expects: z.enum(['changes']).optional(),
    max_visits: positive.optional(),
    budget: runBudgetSchema.optional(),
    transitions: z.array(transitionSchema).max(1000),
  })
  .meta({ id: 'Block' });
export type BlockDef = z.infer<typeof blockSchema>;

export const nodeSchema = z
  .object({
    entry_block: text,
    context_inheritance: z.boolean(),
    payload: z.enum(['inherit', 'args']).optional(),
    static_memory: z.record(text, json).optional(),
    blocks: z.record(text, blockSchema).meta({ propertyNames: { type: 'string', pattern: NAME } }),
  })
  .meta({ id: 'Node' });
export type NodeDef = z.infer<typeof nodeSchema>;

export const workerSchema = z
  .object({
    agent: text.optional(),
    agents: z
      .array(text)
      .min(1)
      .max(8)
      .optional()
      .describe('Instead of agent: the next one takes over at a limit, an outage or a missing log-in'),
    model: text.optional(),
    persona: text.optional(),
    readonly: z.boolean().optional(),
    command: z.array(text).min(1).max(100).optional(),
    timeout_s: positive.optional(),
    report: text.optional().describe('JUnit XML or JSON report of the tests, in the worktree'),
    min_tests: positive.optional(),
  })
  .meta({ id: 'Worker' });
export type WorkerDef = z.infer<typeof workerSchema>;

const nodesSchema = z.record(text, nodeSchema).meta({ propertyNames: { type: 'string', pattern: NAME } });

export const manifestSchema = z.object({
  workers: z.record(text, workerSchema).optional(),
  schemas: z.record(text, z.record(text, json)).optional().describe('JSON Schemas by name, for validationSchema'),
  budget: runBudgetSchema.optional(),
  start: text.optional(),
  nodes: nodesSchema,
});
export type WorkflowManifest = z.infer<typeof manifestSchema>;

/** A file is a whole manifest, or only a map of nodes. */
export const manifestFileSchema = z
  .union([manifestSchema, nodesSchema])
  .meta({ title: 'Reef workflows', description: 'Nodes of blocks; signals lead from block to block by actions' });

const findingSchema = z.strictObject({
  code: text,
  severity: z.enum(['error', 'warning']),
  /** RFC 6901. */
  pointer: text,
  line: count,
  column: count,
  message: text,
  hint: text,
});
export type Finding = z.infer<typeof findingSchema>;

export const haltVerbSchema = z.enum(['approve', 'resume', 'retry', 'skip', 'abort']);
export type HaltVerb = z.infer<typeof haltVerbSchema>;

/** The question of a halted run, in the journal and in the inbox. */
const haltSchema = z.strictObject({
  key: text,
  reason: text,
  block: text,
  visit: count,
  branch: text,
  message: text,
  /** The end of what failed. */
  excerpt: text.optional(),
  /** When a rate limit is over. */
  resumeAt: text.optional(),
  /** When the run goes on without an answer. */
  goesOnAt: text.optional(),
  files: z.array(text).optional(),
  options: z.array(haltVerbSchema),
});
export type Halt = z.infer<typeof haltSchema>;

/** An answer names its visit. The first answer wins; one for another visit does nothing. */
export const haltAnswerSchema = z.strictObject({
  block: text,
  visit: count,
  branch: text.default('main'),
  verb: haltVerbSchema,
  guidance: text.max(1_048_576).optional(),
  /** The signal of a skipped block. */
  signal: text.optional(),
  /** Changes the stepping mode from here on. */
  step: z.boolean().optional(),
});
export type HaltAnswer = z.infer<typeof haltAnswerSchema>;

const amountsSchema = z.strictObject({
  tokens: count,
  turns: count,
  seconds: z.number().nonnegative(),
  /** Null when an agent reports no cost. */
  usd: z.number().nonnegative().nullable(),
});
export type Amounts = z.infer<typeof amountsSchema>;

const blobRefSchema = z.strictObject({
  address: text,
  bytes: count,
  form: z.enum(['text', 'json']),
  head: text,
  tail: text,
});
export type BlobRef = z.infer<typeof blobRefSchema>;

const segmentViewSchema = z.strictObject({
  id: text,
  type: text,
  timestamp: text,
  outcome: z.enum(['PASS', 'FAIL']).optional(),
  filePath: text.optional(),
  bytes: count,
  head: text,
  tail: text.optional(),
  /** Where the whole content is, if it is too large to show. */
  address: text.optional(),
});
export type SegmentView = z.infer<typeof segmentViewSchema>;

const positionSchema = z.strictObject({ block: text, visit: count, branch: text });
const statusSchema = z.enum(['pending', 'active', 'complete', 'failed', 'halted', 'skipped']);
export type BlockStatus = z.infer<typeof statusSchema>;

/** The gates that have a worker of their own, in the order they are run. A project may have others by any name. */
export const GATES = ['lint', 'build', 'test'] as const;
export type Gate = (typeof GATES)[number];

export const comparedFailuresSchema = z.strictObject({ already: z.array(text), fresh: z.array(text) });
/** What a gate names as failed, by whether it failed before the change too. */
export type ComparedFailures = z.infer<typeof comparedFailuresSchema>;

const gateVerdictShape = {
  gate: text,
  result: z.enum(['passed', 'failed', 'not_run', 'waived']),
  /** What the verdict depends on besides the files: command and environment. */
  key: text.optional(),
  /** It did not run: it had passed on the very same files before. */
  reused: z.literal(true).optional(),
  /** Absent: it does. One that does not is shown and stops nothing. */
  blocks: z.literal(false).optional(),
  /** Of a failure, where something of it was there before the change. */
  compared: comparedFailuresSchema.optional(),
};
const gateVerdictSchema = z.strictObject(gateVerdictShape);
export type GateVerdict = z.infer<typeof gateVerdictSchema>;

export const gateViewSchema = z.strictObject({
  ...positionSchema.shape,
  ...gateVerdictShape,
  /** The tree it judged. */
  tree: text.optional(),
});
export type GateView = z.infer<typeof gateViewSchema>;

const promptPartSchema = z.strictObject({
  /** The heading that it stands under. */
  section: text,
  /** Of several under one heading: a file, a rule, or what a visit left. */
  name: text.optional(),
  tokens: count,
  /** Absent: whole. */
  shown: z.enum(['outline', 'cut', 'pointer']).optional(),
});
export type PromptPart = z.infer<typeof promptPartSchema>;

const logEntrySchema = z.strictObject({
  ...positionSchema.shape,
  worker: text,
  status: statusSchema,
  signal: text.optional(),
  endedAt: text.optional(),
  jobId: text.optional(),
  /** What the first prompt of its job was made of; absent in runs of an older Reef. */
  prompt: z.array(promptPartSchema).optional(),
  tree: text.optional(),
  checkpoint: text.optional(),
  exit: z.strictObject({ code: z.number().int().nullable(), timedOut: z.boolean() }).optional(),
  spent: amountsSchema.optional(),
  /** Of a gate, in seconds: the set-up of the checkout it ran in, and the gate itself. */
  took: z.strictObject({ setUp: z.number(), gate: z.number() }).optional(),
  segments: z.array(segmentViewSchema),
});
export type LogEntry = z.infer<typeof logEntrySchema>;

/** Events of a run besides its visits. */
const runEventSchema = z.strictObject({
  ...positionSchema.shape,
  at: text,
  /** A slice of code context was not available, and the block ran without it; or another agent took over. */
  type: z.enum(['context_degraded', 'agent_changed']),
  /** Empty where none is meant. */
  slice: text,
  /** Of the error table. */
  code: text,
  message: text,
});
export type RunEvent = z.infer<typeof runEventSchema>;

export const runViewSchema = z.strictObject({
  runId: text,
  /** The last journal entry in this view. */
  seq: count,
  task: text,
  outcome: z.enum(['running', 'success', 'failure', 'aborted', 'broken']),
  graph: z.strictObject({
    nodeId: text,
    blocks: z.array(text),
    transitions: z.array(
      z.strictObject({
        from: text,
        to: text,
        signal: text,
        /** Of a CALL or FORK: where the RETURN of what it enters leads. */
        back: text.optional(),
      }),
    ),
  }),
  statuses: z.record(text, statusSchema),
  /** Of the main branch; null when the run has ended. */
  position: positionSchema.nullable(),
  /** Every visit, in order. */
  path: z.array(positionSchema),
  lastTransition: z.strictObject({ from: text, to: text, signal: text }).nullable(),
  visits: z.record(text, count),
  returnStack: z.array(text),
  isHalted: z.boolean(),
  halt: haltSchema.optional(),
  /** More than one only in a FORK. */
  halts: z.array(haltSchema),
  budget: z.strictObject({ limit: runBudgetSchema, spent: amountsSchema, warned: z.array(text) }),
  stats: z.strictObject({ filesWritten: count, linesWritten: count, segments: count }),
  gates: z.array(gateViewSchema),
  events: z.array(runEventSchema),
  /** By `block#visit`, in a FORK `branch/block#visit`. */
  executionLog: z.record(text, logEntrySchema),
});
export type RunView = z.infer<typeof runViewSchema>;
