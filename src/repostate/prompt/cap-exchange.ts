import type { Redact } from '../../base/redact.ts';
import { redactDeep } from '../../base/redact.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { Message, ToolCall } from '../../protocol/repostate.ts';
import { type Cut, cutEnd, cutMiddle } from './caps.ts';
import { countMessage, countMessages, type Exchange, type ToolResult } from './messages.ts';

/** Characters of a text that reach the prompt. What an agent wrote is on disk; what it looks at it needs in one piece. */
const CAPS = { command: 2_000, look: 3_000, read: 6_000, other: 3_000, assistant: 4_000, argument: 4_000 } as const;
const SMALLEST = 120;

/** Commands whose output is the content of files or a listing: they are asked for to be read, not to see whether it worked. */
const LOOKS =
  /^\s*(?:cd [^&;|\n]*&&\s*)?(?:cat|sed -n|head|tail|nl|less|awk|grep|rg|find|ls|git (?:show|diff|log|grep))\b/;

export interface Capped {
  messages: Message[];
  /** Texts of which only a part is shown. */
  removed: string[];
}

interface CapSettings {
  counter: TokenCounter;
  /** Of the results of one turn, and of its calls, in tokens: a quarter of B. */
  turnTokens: number;
}

/** Every secret goes before anything is counted, cut or stored. Results match the calls one to one afterwards. */
export function cleanExchange(exchange: Exchange, redact: Redact): Exchange {
  const byId = new Map(exchange.results.map((result) => [result.id, result]));
  const calls = uniqueCalls(exchange.calls).map(
    (call): ToolCall => ({ ...call, args: redactDeep(redact, call.args) as Record<string, unknown> }),
  );
  const results = calls.map((call): ToolResult => {
    const result = byId.get(call.id);
    if (result) return { ...result, text: redact(result.text) };
    return { id: call.id, kind: 'other', isError: true, text: 'No result: the call was interrupted.' };
  });
  return { ...exchange, text: redact(exchange.text), calls, results };
}

function uniqueCalls(calls: readonly ToolCall[]): ToolCall[] {
  return [...new Map(calls.map((call) => [call.id, call])).values()];
}

/** One exchange as the prompt shows it, each text within its cap and the turn within its share. */
export function capExchange(exchange: Exchange, settings: CapSettings): Capped {
  const removed = new Set<string>();
  const take = (whole: string, cut: Cut): string => {
    if (cut.id !== undefined) removed.add(whole);
    return cut.text;
  };
  const cappedCalls = (scale: number): Message => ({
    role: 'assistant',
    text: take(exchange.text, cutMiddle(exchange.text, scaled(CAPS.assistant, scale))),
    ...(exchange.reasoning && exchange.reasoning.length > 0 && { reasoning: [...exchange.reasoning] }),
    calls: exchange.calls.map((call) => ({
      ...call,
      args: capArguments(call.args, scaled(CAPS.argument, scale), take),
    })),
  });
  const cappedResults = (scale: number): Message[] =>
    exchange.results.map((result): Message => {
      const text = take(result.text, capResult(result, callOf(exchange, result), scale));
      return { role: 'tool', id: result.id, text, ...(result.isError && { isError: true }) };
    });
  const { counter, turnTokens } = settings;
  const reasoning = (exchange.reasoning ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
  const countCalls = (message: Message) => countMessage(counter, message) - reasoning;
  const countResults = (messages: Message[]) => countMessages(counter, messages);
  const calls = fitted(cappedCalls, countCalls, turnTokens);
  const results = fitted(cappedResults, countResults, turnTokens);
  return {
    messages: [
      countCalls(calls) > turnTokens ? referredCalls(calls, exchange.turn) : calls,
      ...(countResults(results) > turnTokens ? referred(results, exchange.turn) : results),
    ],
    removed: [...removed],
  };
}

/** A hundred results in one turn leave no room even for their beginnings: all are in the turn's own artifact. */
function referred(results: readonly Message[], turn: number): Message[] {
  return results.map((result) => ({ ...result, text: `[artifact_read "t${turn}"]` }));
}

function referredCalls(message: Message, turn: number): Message {
  if (message.role !== 'assistant') return message;
  return { ...message, calls: message.calls.map((call) => ({ ...call, args: { artifact: `t${turn}` } })) };
}

/** The same without caps, for prompts that carry the whole history. */
export function wholeExchange({ text, reasoning, calls, results }: Exchange): Message[] {
  return [
    {
      role: 'assistant',
      text,
      ...(reasoning && reasoning.length > 0 && { reasoning: [...reasoning] }),
      calls: [...calls],
    },
    ...results.map(
      ({ id, text: said, isError }): Message => ({ role: 'tool', id, text: said, ...(isError && { isError }) }),
    ),
  ];
}

/** Smaller and smaller until it fits; the caps bound a single text, not a hundred of them in one turn. */
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

function callOf(exchange: Exchange, result: ToolResult): ToolCall | undefined {
  return exchange.calls.find(({ id }) => id === result.id);
}

function capResult(result: ToolResult, call: ToolCall | undefined, scale: number): Cut {
  if (result.kind === 'read') return cutEnd(result.text, scaled(CAPS.read, scale));
  const isLook = result.kind === 'command' && LOOKS.test(String(call?.args.command ?? ''));
  return cutMiddle(result.text, scaled(isLook ? CAPS.look : CAPS[result.kind], scale));
}

function capArguments(
  args: Readonly<Record<string, unknown>>,
  cap: number,
  take: (whole: string, cut: Cut) => string,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => {
      const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
      return text.length <= cap ? [key, value] : [key, take(text, cutMiddle(text, cap))];
    }),
  );
}
