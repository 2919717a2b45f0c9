import { z } from 'zod';
import { modeSchema, questionSchema, usageSchema } from './jobs.ts';

const text = z.string();
const int = z.number().int();
const parent = text.optional();

const startedPayload = z.strictObject({
  agent: text,
  mode: modeSchema,
  cwd: text,
  pid: int,
  command: z.array(text),
  sandbox: text,
  sessionId: text.optional(),
  launch: int,
  resumed: z.boolean(),
});

const progressPayload = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('text'), text, delta: z.boolean().optional(), parent }),
  z.strictObject({ kind: z.literal('thinking'), text, delta: z.boolean().optional(), parent }),
  z.strictObject({
    kind: z.literal('tool_result'),
    id: text,
    ok: z.boolean(),
    exitCode: int.optional(),
    text,
    closedBy: z.enum(['interrupt', 'exit', 'turn']).optional(),
    parent,
  }),
  z.strictObject({
    kind: z.literal('session'),
    sessionId: text,
    model: text.optional(),
    agentVersion: text.optional(),
    cwd: text.optional(),
  }),
  z.strictObject({ kind: z.literal('queued'), position: int }),
  z.strictObject({ kind: z.literal('turn'), n: int }),
  z.strictObject({
    kind: z.literal('retry'),
    attempt: int,
    max: int.optional(),
    delayMs: z.number().optional(),
    status: int.optional(),
    message: text,
  }),
  z.strictObject({ kind: z.literal('rate_limit'), resumeAt: text.optional(), message: text.optional() }),
  z.strictObject({ kind: z.literal('outage'), message: text }),
  z.strictObject({ kind: z.literal('usage'), usage: usageSchema }),
  z.strictObject({ kind: z.literal('budget'), what: z.enum(['tokens', 'turns', 'seconds']), used: int, limit: int }),
  z.strictObject({ kind: z.literal('plan'), entries: z.array(z.strictObject({ text, status: text.optional() })) }),
  z.strictObject({ kind: z.literal('subagent'), id: text, state: text, text: text.optional() }),
  z.strictObject({ kind: z.literal('withdrawn'), questionId: text, by: text }),
  z.strictObject({ kind: z.literal('auto_answered'), questionId: text, grant: text }),
  z.strictObject({ kind: z.literal('warning'), message: text, count: int.optional() }),
  z.strictObject({ kind: z.literal('raw'), name: text, ref: text, text: text.optional() }),
  // Of the native coder (repostate.ts).
  z.strictObject({ kind: z.literal('repostate.divergence'), path: text, oldHash: text, newHash: text }),
  z.strictObject({
    kind: z.literal('repostate.detected'),
    detector: text,
    action: text,
    turn: int,
    evidence: z.record(text, z.unknown()),
  }),
  z.strictObject({
    kind: z.literal('context.rolled'),
    epoch: int,
    reason: text,
    dropped: z.array(int),
    tokensBefore: int,
    tokensAfter: int,
  }),
  z.strictObject({ kind: z.literal('context.cache_miss'), turn: int, segment: text }),
]);

const toolCallPayload = z.strictObject({
  id: text,
  name: text,
  tool: z.enum(['shell', 'read', 'edit', 'search', 'fetch', 'mcp', 'agent', 'other']),
  title: text,
  input: z.unknown(),
  parent,
});

const fileEditPayload = z.strictObject({
  id: text,
  /** Relative to the working folder; absolute when `outside`. */
  path: text,
  outside: z.boolean().optional(),
  kind: z.enum(['add', 'update', 'delete', 'rename']),
  from: text.optional(),
  diff: text.optional(),
  parent,
});

const inputSentPayload = z.strictObject({
  messageId: text,
  questionId: text.optional(),
  text: text.optional(),
  option: z.array(text).optional(),
  decision: text.optional(),
  by: text,
  maybe_repeated: z.boolean().optional(),
});

const errorPayload = z.strictObject({
  code: text,
  message: text,
  fatal: z.boolean(),
  scope: z.enum(['line', 'turn', 'process']),
  retryable: z.boolean(),
  status: int.optional(),
  raw: text.optional(),
  ref: text.optional(),
  count: int.optional(),
  /** Of the end of a process: the error of its last turn, which was told already. */
  repeats: z.literal(true).optional(),
  exitCode: int.optional(),
  signal: text.optional(),
  stderrTail: text.optional(),
});

const completedPayload = z.strictObject({
  scope: z.enum(['turn', 'process']),
  outcome: z.enum(['done', 'interrupted', 'killed', 'ended']),
  result: text,
  stopReason: text.optional(),
  usage: usageSchema,
  durationMs: z.number(),
  exitCode: int.optional(),
  signal: text.optional(),
  derived: z.boolean().optional(),
});

/** Eight types, and no more: finer news are kinds of `progress` and fields. */
export const eventBodySchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('started'), payload: startedPayload }),
  z.strictObject({ type: z.literal('progress'), payload: progressPayload }),
  z.strictObject({ type: z.literal('tool_call'), payload: toolCallPayload }),
  z.strictObject({ type: z.literal('file_edit'), payload: fileEditPayload }),
  z.strictObject({ type: z.literal('needs_input'), payload: questionSchema }),
  z.strictObject({ type: z.literal('input_sent'), payload: inputSentPayload }),
  z.strictObject({ type: z.literal('error'), payload: errorPayload }),
  z.strictObject({ type: z.literal('completed'), payload: completedPayload }),
]);

/** An event before the log gave it its `seq` and time. */
export type EventBody = z.infer<typeof eventBodySchema>;
export type EventType = EventBody['type'];
export type EventOf<T extends EventType> = Extract<EventBody, { type: T }>;
export type Progress = EventOf<'progress'>['payload'];

/** Something of a home was written, without saying how: whoever shows it looks again. Without an id it may be any of its kind. */
export interface Change {
  kind: 'run' | 'worktree' | 'inbox';
  id?: string;
}

export type AgentEvent = EventBody & { seq: number; timestamp: string; agentId: string };

/** The contract of the log's readers: a payload may be cut to its cap, or written by a newer Reef. */
export const agentEventSchema = z.strictObject({
  seq: int,
  timestamp: text,
  type: z.enum(['started', 'progress', 'tool_call', 'file_edit', 'needs_input', 'input_sent', 'error', 'completed']),
  agentId: text,
  payload: z.record(text, z.unknown()),
});
