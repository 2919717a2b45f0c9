import type { Clock } from '../../base/clock.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Model, ModelClient } from '../models/client.ts';
import { type Message, textOf, userText } from '../models/message.ts';
import { fullText, summaryBudget, tokensOf } from './prompt-messages.ts';
import type { Session } from './session.ts';
import { lastTurnStart } from './session-state.ts';

const TIMEOUT_MS = 120_000;
const LEAST_GAIN = 0.1;
const MOST_POOR_ATTEMPTS = 2;
/** The share of the model's window at which a turn compresses. */
const WINDOW_SHARE = 0.8;
/** The share of the window for the text to be summarised. */
const TRANSCRIPT_SHARE = 0.6;
const PRESET_WINDOW = 32_000;
const LONGEST_MESSAGE = 4_000;

const SUMMARIZE = `Summarise the conversation for yourself, so that you can go on with it without having read it.
Keep what was decided and why, what was tried and failed, names, paths, numbers and commands exactly as they were, and what is
still to be done. Leave out courtesies. If there is a summary already, work it into the new one: it will be thrown away.
Answer with the summary alone, in at most {{words}} words.`;

export interface CompressionNeeds {
  tokens: Pick<TokenCounter, 'count'>;
  /** Tokens; 0 turns compression off. */
  threshold: number;
}

/** Counts only what compression can shrink, which a long system prompt is not. */
export function isOverThreshold(session: Session, { tokens, threshold }: CompressionNeeds): boolean {
  if (threshold === 0 || session.isCompressing || session.isCompressionPaused) return false;
  const past = session.messages.slice(0, lastTurnStart(session.messages));
  return past.length > 0 && tokensOf(past, tokens) > threshold;
}

/** Between two steps of a turn, the whole prompt is compared with the model's window. */
export function isNearWindow(session: Session, promptTokens: number, model: Model): boolean {
  const window = model.data.max_input_tokens;
  if (window === undefined || session.isCompressing || session.isCompressionPaused) return false;
  return session.messages.length > 0 && promptTokens > window * WINDOW_SHARE;
}

export interface CompressionRequest extends CompressionNeeds {
  session: Session;
  model: Model;
  client: ModelClient;
  clock: Clock;
  /** Null for our own. */
  summarizationPrompt: string | null;
  /** The running turn. The whole session is then past, and the messages of the turn are kept. */
  turn?: { messages: readonly Message[] } | undefined;
  signal?: AbortSignal | undefined;
  agent?: string | undefined;
}

export interface CompressionResult {
  /** Tokens of the history before and after. */
  before: number;
  after: number;
  /** Why automatic compression pauses, if it does. */
  tooBig?: string;
}

/**
 * Makes a new summary of the old one and the messages since, which move aside. Messages that arrive meanwhile stay: the
 * change counts those it stands for. A failure leaves the session as it was.
 */
export async function compress(request: CompressionRequest): Promise<CompressionResult | undefined> {
  const { session, tokens } = request;
  const count = request.turn ? session.messages.length : lastTurnStart(session.messages);
  if (count === 0 || session.isCompressing) return undefined;
  session.isCompressing = true;
  const alreadyCompressed = session.state.compressed_messages.length;
  const held = request.turn?.messages ?? session.messages.slice(count);
  const sizeOf = (summary: string | null, messages: readonly Message[]) =>
    tokens.count(summary ?? '') + tokensOf([...messages, ...held], tokens);
  try {
    const before = sizeOf(session.state.summary, session.messages.slice(0, count));
    const summary = await summarise(request, session.messages.slice(0, count));
    session.change({ kind: 'compressed', summary, count, alreadyCompressed });
    const after = sizeOf(summary, []);
    const isPoor = before - after < before * LEAST_GAIN;
    session.poorCompressions = isPoor ? session.poorCompressions + 1 : 0;
    if (session.poorCompressions < MOST_POOR_ATTEMPTS) return { before, after };
    session.isCompressionPaused = true;
    return { before, after, tooBig: `the last turn alone has ${tokensOf(held, tokens)} tokens` };
  } finally {
    session.isCompressing = false;
  }
}

async function summarise(request: CompressionRequest, past: readonly Message[]): Promise<string> {
  const { session, model, client, tokens, clock, signal, agent } = request;
  const budget = summaryBudget(request.threshold);
  const instruction = request.summarizationPrompt ?? SUMMARIZE.replace('{{words}}', String(Math.floor(budget * 0.7)));
  const room = (model.data.max_input_tokens ?? PRESET_WINDOW) * TRANSCRIPT_SHARE;
  const transcript = transcriptOf(past, { tokens, room });
  const before = session.state.summary === null ? '' : `The summary so far:\n${session.state.summary}\n\n`;
  const asked = userText(`${before}The conversation since:\n${transcript}\n\n${instruction}`);
  const timeout = new AbortController();
  const stopClock = new AbortController();
  void clock.sleep(TIMEOUT_MS, stopClock.signal).then(
    () => timeout.abort(new ReefError('cancelled', 'the summary took longer than two minutes')),
    () => {},
  );
  try {
    const reply = await client.chat({
      model,
      messages: [asked],
      stream: false,
      signal: AbortSignal.any([timeout.signal, ...(signal ? [signal] : [])]),
      ...(agent !== undefined && { agent }),
    });
    const text = textOf({ role: 'assistant', content: reply.content }).trim();
    if (text === '') throw new ReefError('provider_rejected', 'the model gave an empty summary');
    return cutToTokens(text, budget, tokens);
  } finally {
    stopClock.abort();
  }
}

/** Long messages lose their middle, more of it the longer the whole is. */
function transcriptOf(
  past: readonly Message[],
  { tokens, room }: { tokens: CompressionNeeds['tokens']; room: number },
): string {
  const render = (longest: number) =>
    past.map((message) => `${message.role}: ${withoutMiddle(fullText(message), longest)}`).join('\n\n');
  let longest = LONGEST_MESSAGE;
  let text = render(longest);
  while (tokens.count(text) > room && longest > 40) {
    longest = Math.floor(longest / 2);
    text = render(longest);
  }
  return tokens.count(text) > room ? withoutMiddle(text, Math.floor(room)) : text;
}

function withoutMiddle(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const half = Math.floor((longest - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function cutToTokens(text: string, budget: number, tokens: CompressionNeeds['tokens']): string {
  let cut = text;
  while (tokens.count(cut) > budget) cut = `${cut.slice(0, Math.floor(cut.length * 0.9) - 1)}…`;
  return cut;
}
