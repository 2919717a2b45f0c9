import { z } from 'zod';
import type { ErrorBody } from '../../../protocol/errors.ts';
import type { EngineEvent } from '../../../runtime/engine/emitter.ts';

const name = z.string().min(1).max(128);
const MOST_CHARACTERS = 1_000_000;

const scope = {
  role: name.optional(),
  agent: name.optional().describe('An agent of the runtime, as for reef ask --agent'),
  variables: z.record(name, z.string().max(100_000)).optional().describe('Variables of the agent'),
  rag: name.optional(),
  model: z.string().min(1).max(256).optional(),
};

const question = {
  input: z.string().min(1).max(MOST_CHARACTERS),
  stream: z.boolean().default(false).describe('Answer with server-sent events'),
};

const NOT_BOTH = { message: 'an agent has its own role: name one of the two', path: ['agent'] };
const isOneScope = (given: { role?: unknown; prompt?: unknown; agent?: unknown }) =>
  given.agent === undefined || (given.role === undefined && given.prompt === undefined);

/** One question outside of all sessions. */
export const completionSchema = z
  .strictObject({ ...question, ...scope, prompt: z.string().max(100_000).optional().describe('Instead of a role') })
  .refine(isOneScope, NOT_BOTH);

/** What a session is begun with. Every question in it is asked in this scope. */
export const sessionSchema = z.strictObject({ ...scope, name: name.optional() }).refine(isOneScope, NOT_BOTH);

export const questionSchema = z.strictObject(question);

export const sessionIdSchema = z.uuid();

const sessionScopeSchema = z.strictObject(scope);

/** A session that was begun over HTTP. What was said in it lies with all other sessions, under the same id. */
export const sessionRecordSchema = z.strictObject({
  id: sessionIdSchema,
  name: name.optional(),
  createdAt: z.iso.datetime(),
  scope: sessionScopeSchema,
});
export type SessionRecord = z.infer<typeof sessionRecordSchema>;

export type Scope = z.infer<typeof sessionScopeSchema> & { prompt?: string | undefined };
type Named = 'models' | 'roles' | 'agents' | 'rags';

/** What a process of the engine is asked, once. */
export type Asked =
  | { do: 'answer'; input: string; stream: boolean; scope: Scope; sessionId?: string }
  | { do: 'begin'; scope: Scope; name?: string | undefined }
  | { do: 'list' }
  | { do: 'show' | 'forget'; sessionId: string }
  | { do: 'name'; what: Named };

/** What it says: what happens, then one of the other two. */
export type Said = EngineEvent | { type: 'result'; value: object } | { type: 'failed'; error: ErrorBody['error'] };
