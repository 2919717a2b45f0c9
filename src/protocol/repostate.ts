import { z } from 'zod';

const text = z.string();
const count = z.number().int().nonnegative();

/** Unknown keys are kept everywhere, so that fields of a newer Reef survive. */
const attributionSchema = z.looseObject({
  jobId: text,
  turn: z.number().int(),
  via: z.enum(['tool', 'command', 'outside']),
});

const readSchema = attributionSchema.extend({ range: z.tuple([count, count], count).optional() });

const fileMetaSchema = z.looseObject({
  path: text,
  /** SHA-256 of the content; empty while unknown or deleted. */
  hash: text,
  size: count,
  modTime: text,
  type: text,
  /** Against base, not HEAD. */
  status: z.enum(['created', 'modified', 'unchanged', 'deleted', 'unknown']),
  blob: text.optional(),
  from: text.optional(),
  wrote: attributionSchema.optional(),
  read: readSchema.optional(),
});

const taskSchema = z.looseObject({
  id: text,
  description: text,
  priority: z.number().int(),
  status: z.enum(['pending', 'in_progress', 'completed']),
});

/** The job whose turn it was. Absent in files of an older Reef. */
const jobId = text.optional();

const runFactSchema = z.looseObject({
  jobId,
  turn: z.number().int(),
  command: text,
  exit: z.number().int().nullable(),
  line: text,
});
const checkFactSchema = z.looseObject({
  jobId,
  name: text,
  ok: z.boolean(),
  turn: z.number().int(),
  fingerprint: text,
});
const noteSchema = z.looseObject({ jobId, turn: z.number().int(), text });

/** The state of a worktree, from git, and who changed it, from events. The file has the same in snake case. */
export const repoStateSchema = z.looseObject({
  version: z.literal(1),
  workDir: text,
  /** The task or run that the state was last written for. */
  storyId: text,
  files: z.array(fileMetaSchema),
  filesOmitted: count,
  openTasks: z.array(taskSchema),
  lastUpdated: text,
  /** The last event in it. */
  seq: count,
  base: text,
  head: text,
  branch: text.nullable(),
  /** SHA-256 of the sorted (path, mode, blob) that differ from base. */
  fingerprint: text,
  source: z.enum(['git', 'tools']),
  runs: z.array(runFactSchema),
  checks: z.array(checkFactSchema),
  notes: z.array(noteSchema),
  openQuestion: z.looseObject({ jobId: text, question: text }).optional(),
  lastFailure: z.looseObject({ jobId, turn: z.number().int(), text }).optional(),
});

export type RepoState = z.infer<typeof repoStateSchema>;
export type FileMeta = z.infer<typeof fileMetaSchema>;
export type Attribution = z.infer<typeof attributionSchema>;
export type Task = z.infer<typeof taskSchema>;

const toolCallSchema = z.strictObject({ id: text, tool: text, args: z.record(text, z.unknown()) });
const reasoningSchema = z.strictObject({ data: z.unknown(), tokens: count });

/** One message to a model of any provider. */
const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), text }),
  z.strictObject({ role: z.literal('user'), text }),
  z.strictObject({
    role: z.literal('assistant'),
    text,
    /** Opaque: never edited, only dropped with its exchange. */
    reasoning: z.array(reasoningSchema).optional(),
    calls: z.array(toolCallSchema),
  }),
  z.strictObject({ role: z.literal('tool'), id: text, text, isError: z.boolean().optional() }),
]);

export type Message = z.infer<typeof messageSchema>;
export type ToolCall = z.infer<typeof toolCallSchema>;
export type Reasoning = z.infer<typeof reasoningSchema>;

const rollReasonSchema = z.enum(['budget', 'idle', 'block', 'role', 'model', 'asked']);
export type RollReason = z.infer<typeof rollReasonSchema>;

/** `code`: what the index finds for the task, shown once. */
const noteKindSchema = z.enum(['delta', 'reminder', 'code']);
export type NoteKind = z.infer<typeof noteKindSchema>;

/** News of a context manager: enough to build the same prompt again, byte for byte. */
export const contextNewsSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('context.appended'),
    turn: count,
    messages: z.array(messageSchema),
    /** Files the agent named in its calls (without no-ops), and those only in its thoughts. */
    called: z.array(text),
    thought: z.array(text),
  }),
  z.strictObject({ kind: z.literal('context.started'), snapshot: text }),
  z.strictObject({ kind: z.literal('context.noted'), turn: count, why: noteKindSchema, text }),
  z.strictObject({
    kind: z.literal('context.rolled'),
    epoch: count,
    reason: rollReasonSchema,
    dropped: z.array(count),
    tokensBefore: count,
    tokensAfter: count,
    snapshot: text,
  }),
  z.strictObject({ kind: z.literal('context.cache_miss'), turn: count, segment: text }),
]);
export type ContextNews = z.infer<typeof contextNewsSchema>;

/** News of the tracker and the detectors, as `progress` events. */
export const stateNewsSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('repostate.divergence'), path: text, oldHash: text, newHash: text }),
  /** Who changed a file. Git cannot say it, so the log keeps it. */
  z.strictObject({
    kind: z.literal('repostate.changed'),
    path: text,
    jobId: text,
    turn: z.number().int(),
    via: z.enum(['tool', 'command', 'outside']),
  }),
  z.strictObject({
    kind: z.literal('repostate.detected'),
    detector: z.enum(['rewrite', 'failing_call', 'repeated_read', 'same_output', 'stall', 'stop_criterion']),
    action: z.enum(['told', 'refused', 'shortened', 'reminded', 'asked', 'ended']),
    turn: count,
    evidence: z.record(text, z.unknown()),
  }),
]);
export type StateNews = z.infer<typeof stateNewsSchema>;
