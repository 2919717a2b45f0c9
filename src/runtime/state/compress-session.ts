import { type Message, textOf, userText } from '../models/message.ts';
import { roleMessages } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import { slugOfTitle } from '../sessions/alias.ts';
import { type CompressionResult, compress, isNearWindow, isOverThreshold } from '../sessions/compression.ts';
import { fullText, tokensOf } from '../sessions/prompt-messages.ts';
import type { ContextData } from './context-data.ts';
import { refuseDry, settingsOf } from './resolve.ts';
import { historyMessages } from './turns.ts';

const CREATE_TITLE_ROLE = 'create-title';

/** Whether the history is over its threshold. */
export function maybeCompressSession(ctx: ContextData): boolean {
  const { session, app } = ctx;
  const threshold = settingsOf(ctx).compression_threshold;
  return session !== undefined && isOverThreshold(session, { tokens: app.tokens, threshold });
}

/** Whether the prompt comes near the model's window. The messages of a running turn are not in the session yet. */
export function needsCompressionMidTurn(ctx: ContextData, turn: readonly Message[]): boolean {
  const { session, app, model } = ctx;
  if (!session) return false;
  const prompt = tokensOf([...historyMessages(ctx), ...turn], app.tokens);
  return isNearWindow(session, prompt, model);
}

interface CompressOptions {
  turn?: { messages: readonly Message[] } | undefined;
  signal?: AbortSignal | undefined;
}

/** Undefined if there is nothing to compress or a compression is running. */
export async function compressSession(
  ctx: ContextData,
  { turn, signal }: CompressOptions = {},
): Promise<CompressionResult | undefined> {
  const { app, session, agent } = ctx;
  if (!session) return undefined;
  refuseDry(ctx);
  const id = agent?.spec.summarization_model;
  const model = id ? app.models.find(id, 'chat') : ctx.model;
  return compress({
    session,
    model,
    client: app.models.client(model),
    clock: app.clock,
    tokens: app.tokens,
    threshold: settingsOf(ctx).compression_threshold,
    summarizationPrompt: app.config.summarization_prompt,
    turn,
    signal,
    agent: agent?.name,
  });
}

/** Whether the session needs a title: it is temporary, will be saved, has a first exchange and was not tried before. */
export function maybeAutonameSession(ctx: ContextData): boolean {
  const { session } = ctx;
  if (!session?.isTemporary || session.title !== undefined || session.userMessages === 0) return false;
  return settingsOf(ctx).save_session === true;
}

/** Asks the model for a title. After a failure the session has none, and nobody tries again. */
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
  session.title = slugOfTitle(textOf({ role: 'assistant', content: reply.content }));
  return session.title;
}
