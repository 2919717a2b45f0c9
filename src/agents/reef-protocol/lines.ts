import { z } from 'zod';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import { decisionSchema, fieldSchema, questionKindSchema } from '../../protocol/jobs.ts';
import type { Json } from '../../protocol/workflow.ts';

/**
 * The reef protocol, version 1: how a program is an agent of Reef without speaking anyone else's protocol.
 *
 * Reef starts it in the folder of the job, with `--session ID` for a new session or `--resume ID` to continue one, and
 * `--model NAME` when one was chosen. `REEF_SOCKET` is its own socket to Reef. Both sides write one JSON object a line, in
 * UTF-8. Standard input stays open: SIGTERM ends the program. Standard error is free text and is shown as warnings.
 *
 * Reef writes (`inputLineSchema`): a message, the answers to a request, or an interrupt, each with an `id`. The program
 * acknowledges each of them with `{"ack": id}` when it has read it. To an id it has seen before it does nothing else: Reef
 * may repeat a line after a restart.
 *
 * The program writes acknowledgements, events as they are stored (`{"type", "payload"}`), and news (`{"do": …}`). A turn
 * begins with `turn begun`, ends with `turn over` or `turn failed`, and belongs to one message; messages read meanwhile
 * wait. A request (`ask`) is answered once, with one answer per question in their order, or withdrawn by the program. An
 * interrupt ends the turn as `interrupted`. Unknown keys are ignored, unknown `do` and `type` are counted.
 */
const text = z.string();
const count = z.number().int().nonnegative();
const json = z.custom<Json>();

/** Chosen by the program; `1` and `"1"` are two. */
const requestId = z.union([text, z.number()]);

const questionSchema = z.object({
  kind: questionKindSchema,
  question: text,
  choices: z.array(z.object({ id: text, label: text, description: text.exactOptional() })).exactOptional(),
  multi: z.boolean().exactOptional(),
  freeText: z.boolean().exactOptional(),
  secret: z.boolean().exactOptional(),
  header: text.exactOptional(),
  tool: text.exactOptional(),
  input: json.exactOptional(),
  diff: text.exactOptional(),
  field: fieldSchema.exactOptional(),
});

export type ReefQuestion = z.infer<typeof questionSchema>;

/** `more` is added. `session` is a running total of the session: what it grew by since the last one counts. */
const scope = z.enum(['more', 'session']);
/** `ahead` counts at once and until the next sum, which contains it. */
const tokenScope = z.enum([...scope.options, 'ahead']);

const reportSchema = z.object({
  tokens: z
    .object({ input: count, output: count, cacheRead: count, cacheWrite: count, reasoning: count, scope: tokenScope })
    .exactOptional(),
  cost: z.object({ usd: z.number().nonnegative(), scope }).exactOptional(),
  partial: z.boolean(),
});

const errorCode = z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]).catch('agent_error');

const turnSchema = z.discriminatedUnion('is', [
  z.object({ do: z.literal('turn'), is: z.literal('begun') }),
  z.object({
    do: z.literal('turn'),
    is: z.literal('over'),
    outcome: z.enum(['done', 'interrupted', 'ended']),
    result: text,
    stopReason: text.exactOptional(),
  }),
  z.object({
    do: z.literal('turn'),
    is: z.literal('failed'),
    code: errorCode,
    message: text,
    retryable: z.boolean(),
    status: z.number().int().exactOptional(),
  }),
]);

export const newsSchemas = {
  /** Pieces of one message share an id and are joined; `final` ends it. */
  text: z.object({
    do: z.literal('text'),
    kind: z.enum(['text', 'thinking']),
    id: text,
    text,
    final: z.boolean(),
    parent: text.exactOptional(),
  }),
  ask: z.object({ do: z.literal('ask'), requestId, questions: z.array(questionSchema).min(1) }),
  withdraw: z.object({ do: z.literal('withdraw'), requestId, by: text }),
  session: z.object({
    do: z.literal('session'),
    sessionId: text,
    model: text.exactOptional(),
    agentVersion: text.exactOptional(),
    cwd: text.exactOptional(),
  }),
  usage: z.object({ do: z.literal('usage'), report: reportSchema }),
  /** The model gave one more answer: what turn budgets count. */
  answer: z.object({ do: z.literal('answer') }),
  turn: turnSchema,
  /** The provider's limit is reached: the job pauses, its process ends, and it can be resumed. */
  limit: z.object({ do: z.literal('limit'), message: text, resumeAt: text.exactOptional() }),
};

/** Kinds of progress that only Reef writes. */
const RESERVED = new Set([
  'queued',
  'turn',
  'usage',
  'budget',
  'withdrawn',
  'auto_answered',
  'rate_limit',
  'outage',
  'raw',
]);

/** The events a program may write itself. Reef writes those about its process and its input. */
export const eventLineSchema = eventBodySchema.transform((event, context) => {
  if (event.type === 'tool_call' || event.type === 'file_edit') return event;
  if (event.type === 'progress' && event.payload.kind !== 'session' && !RESERVED.has(event.payload.kind)) return event;
  if (event.type === 'error' && !event.payload.fatal && event.payload.scope !== 'process') return event;
  context.issues.push({ code: 'custom', message: `${event.type} is Reef's to tell`, input: event });
  return z.NEVER;
});

export const ackSchema = z.object({ ack: text });

const answerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('permission'), decision: decisionSchema, reason: text.exactOptional() }),
  z.object({ kind: z.literal('choice'), labels: z.array(text), ids: z.array(text), text: text.exactOptional() }),
  z.object({ kind: z.literal('text'), text }),
]);

export type ReefAnswer = z.infer<typeof answerSchema>;

export const inputLineSchema = z.union([
  z.object({ id: text, text }),
  z.object({ id: text, requestId, answers: z.array(answerSchema) }),
  z.object({ id: text, interrupt: z.literal(true) }),
]);

export type InputLine = z.infer<typeof inputLineSchema>;
export type News = { [K in keyof typeof newsSchemas]: z.infer<(typeof newsSchemas)[K]> }[keyof typeof newsSchemas];
export type OutputLine = z.infer<typeof ackSchema> | z.infer<typeof eventLineSchema> | News;
