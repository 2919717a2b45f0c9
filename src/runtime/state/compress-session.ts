import type { Message } from '../models/message.ts';
import { textOf, userText } from '../models/message.ts';
import { roleMessages } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import { slugOf } from '../sessions/autoname.ts';
import { type CompressionResult, compress, isNearWindow, isOverThreshold } from '../sessions/compression.ts';
import { fullText, tokensOf } from '../sessions/message-text.ts';
import type { ContextData } from './context-data.ts';
import { historyMessages, settingsOf } from './turns.ts';

const CREATE_TITLE_ROLE = 'create-title';

/** Whether it is time; the caller starts it, in the background or not. */
export function maybeCompressSession(ctx: ContextData): boolean {
  const { session, app } = ctx;
  const threshold = settingsOf(app.config, ctx).compression_threshold;
  return session !== undefined && isOverThreshold(session, { tokens: app.tokens, threshold });
}

/** Between two steps of a turn, whose messages are not in the session yet. */
export function needsCompressionMidTurn(ctx: ContextData, turn: readonly Message[]): boolean {
  const { session, app, model } = ctx;
  if (!session) return false;
  const prompt = tokensOf([...historyMessages(app.config, ctx), ...turn], app.tokens);
  return isNearWindow(session, prompt, model);
}

interface CompressOptions {
  turn?: { messages: readonly Message[] } | undefined;
  signal?: AbortSignal | undefined;
}

/** Undefined when there is nothing to compress, or somebody is at it. */
export async function compressSession(
  ctx: ContextData,
  { turn, signal }: CompressOptions = {},
): Promise<CompressionResult | undefined> {
  const { app, session, agent } = ctx;
  if (!session) return undefined;
  const id = agent?.spec.summarization_model;
  const model = id ? app.models.find(id, 'chat') : ctx.model;
  return compress({
    session,
    model,
    client: app.models.client(model),
    clock: app.clock,
    tokens: app.tokens,
    threshold: settingsOf(app.config, ctx).compression_threshold,
    summarizationPrompt: app.config.summarization_prompt,
    turn,
    signal,
    agent: agent?.name,
  });
}

/** A temporary session that will be saved, after its first exchange, once. */
export function maybeAutonameSession(ctx: ContextData): boolean {
  const { session, app } = ctx;
  if (!session?.isTemporary || session.title !== undefined || session.userMessages === 0) return false;
  return settingsOf(app.config, ctx).save_session === true;
}

/** The title it made; a failure leaves the session nameless and is not tried again. */
export async function autonameSession(ctx: ContextData, signal?: AbortSignal): Promise<string> {
  const { app, session } = ctx;
  if (!session) return '';
  session.title = '';
  const role = loadRole(app.paths, CREATE_TITLE_ROLE, app.warn);
  const model = role.model ? app.models.find(role.model, 'chat') : ctx.model;
  const exchange = session.messages
    .slice(0, 4)
    .map((message) => `${message.role}: ${fullText(message).slice(0, 2000)}`);
  const reply = await app.models.client(model).chat({
    model,
    messages: roleMessages(role.prompt, userText(exchange.join('\n\n')).content),
    temperature: role.temperature,
    top_p: role.top_p,
    stream: false,
    ...(signal && { signal }),
  });
  session.title = slugOf(textOf({ role: 'assistant', content: reply.content }));
  return session.title;
}
