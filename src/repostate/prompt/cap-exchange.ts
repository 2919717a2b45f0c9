import { type Redact, redactDeep } from '../../base/redact.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { Message, ToolCall } from '../../protocol/repostate.ts';
import { type Cut, cutEnd, cutMiddle } from './caps.ts';
import { countMessage, countMessages, type Exchange, type ToolResult } from './messages.ts';

/** The most characters of a text that reach the prompt. What an agent wrote is on disk; what it reads it needs in one piece. */
const CAPS = { command: 2_000, look: 3_000, read: 6_000, other: 3_000, assistant: 4_000, argument: 4_000 } as const;
const SMALLEST = 120;

/** Commands that show files or listings: an agent runs them for their output, not for their success. */
const LOOKS =
  /^\s*(?:cd [^&;|\n]*&&\s*)?(?:cat|sed -n|head|tail|nl|less|awk|grep|rg|find|ls|git (?:show|diff|log|grep))\b/;

interface Capped {
  messages: Message[];
  /** The whole texts of which only a part is shown. */
  removed: string[];
}

interface CapSettings {
  counter: TokenCounter;
  /** The most tokens of the results of one turn, and of its calls: a quarter of the tail budget. */
  turnTokens: number;
}

/** Redacts secrets before anything is counted, cut or stored. Afterwards every call has exactly one result. */
export function cleanExchange(exchange: Exchange, redact: Redact): Exchange {
  const byId = new Map(exchange.results.map((result) => [result.id, result]));
  const unique = new Map(exchange.calls.map((call) => [call.id, call]));
  const calls = [...unique.values()].map((call) => ({ ...call, args: redactDeep(redact, call.args) }));
  const results = calls.map((call): ToolResult => {
    const result = byId.get(call.id);
    if (result) return { ...result, text: redact(result.text) };
    return { id: call.id, kind: 'other', isError: true, text: 'No result: the call was interrupted.' };
  });
  return { ...exchange, text: redact(exchange.text), calls, results };
}

/** One exchange as the prompt shows it: each text within its cap, and the turn within its share. */
export function capExchange(exchange: Exchange, { counter, turnTokens }: CapSettings): Capped {
  const removed = new Set<string>();
  const take = (whole: string, cut: Cut): string => {
    if (cut.id !== undefined) removed.add(whole);
    return cut.text;
  };
  const cappedCalls = (scale: number) => {
    const text = take(exchange.text, cutMiddle(exchange.text, scaled(CAPS.assistant, scale)));
    const cap = scaled(CAPS.argument, scale);
    return replyOf(exchange, text, (args) => capArguments(args, cap, take));
  };
  const cappedResults = (scale: number) =>
    exchange.results.map((result) => {
      const call = exchange.calls.find(({ id }) => id === result.id);
      return resultOf(result, take(result.text, capResult(result, call, scale)));
    });
  const reasoning = (exchange.reasoning ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
  const countCalls = (message: Message) => countMessage(counter, message) - reasoning;
  const countResults = (messages: Message[]) => countMessages(counter, messages);
  const calls = fitted(cappedCalls, countCalls, turnTokens);
  const results = fitted(cappedResults, countResults, turnTokens);
  // A hundred results leave no room even for their beginnings. The artifact of the turn holds all of them.
  const turn = `t${exchange.turn}`;
  return {
    messages: [
      countCalls(calls) > turnTokens ? replyOf(exchange, calls.text, () => ({ artifact: turn })) : calls,
      ...(countResults(results) > turnTokens
        ? exchange.results.map((result) => resultOf(result, `[artifact_read "${turn}"]`))
        : results),
    ],
    removed: [...removed],
  };
}

/** The exchange without caps, for prompts that carry the whole history. */
export function wholeExchange(exchange: Exchange): Message[] {
  return [
    replyOf(exchange, exchange.text, (args) => args),
    ...exchange.results.map((result) => resultOf(result, result.text)),
  ];
}

function replyOf(
  { reasoning = [], calls }: Exchange,
  text: string,
  argsOf: (args: ToolCall['args']) => ToolCall['args'],
): Message {
  return {
    role: 'assistant',
    text,
    ...(reasoning.length > 0 && { reasoning: [...reasoning] }),
    calls: calls.map((call) => ({ ...call, args: argsOf(call.args) })),
  };
}

function resultOf({ id, isError }: ToolResult, text: string): Message {
  return { role: 'tool', id, text, ...(isError && { isError }) };
}

/** Shrinks until it fits: the caps bound a single text, not a hundred of them in one turn. */
function fitted<T>(make: (scale: number) => T, count: (made: T) => number, budget: number): T {
  let scale = 1;
  let made = make(scale);
  for (let tries = 0; tries < 8 && count(made) > budget; tries++) {
    scale *= Math.min(0.8, (budget / count(made)) * 0.95);
    made = make(scale);
  }
  return made;
}

function scaled(cap: number, scale: number): number {
  return Math.max(SMALLEST, Math.floor(cap * scale));
}

function capResult(result: ToolResult, call: ToolCall | undefined, scale: number): Cut {
  if (result.kind === 'read') return cutEnd(result.text, scaled(CAPS.read, scale));
  const isLook = result.kind === 'command' && LOOKS.test(String(call?.args.command ?? ''));
  return cutMiddle(result.text, scaled(isLook ? CAPS.look : CAPS[result.kind], scale));
}

function capArguments(
  args: ToolCall['args'],
  cap: number,
  take: (whole: string, cut: Cut) => string,
): ToolCall['args'] {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
      return text.length <= cap ? [key, value] : [key, take(text, cutMiddle(text, cap))];
    }),
  );
}
