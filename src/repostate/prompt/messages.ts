import type { TokenCounter } from '../../base/tokens.ts';
import type { Message, Reasoning, ToolCall } from '../../protocol/repostate.ts';

export interface ToolResult {
  id: string;
  text: string;
  /** Decides how it is cut: a read at its end, anything else in its middle. */
  kind: 'command' | 'read' | 'other';
  isError?: boolean;
  /** The call did nothing, so snapshot, runs and names ignore it. */
  noop?: boolean;
}

/** One assistant message, its calls, and the results of all of them. */
export interface Exchange {
  turn: number;
  text: string;
  reasoning?: readonly Reasoning[];
  calls: readonly ToolCall[];
  results: readonly ToolResult[];
}

/** The text a model is charged for, part by part. */
export function* textsOf(message: Message): Generator<string> {
  yield message.text;
  if (message.role !== 'assistant') return;
  for (const call of message.calls) {
    yield call.tool;
    yield* argumentTexts(call.args);
  }
}

/** The values of arguments as plain text, without the escapes of JSON. */
export function* argumentTexts(args: Readonly<Record<string, unknown>>): Generator<string> {
  for (const value of Object.values(args)) {
    if (typeof value === 'string') yield value;
    else if (value !== undefined) yield JSON.stringify(value);
  }
}

export function countMessage(counter: TokenCounter, message: Message): number {
  let sum = 0;
  for (const text of textsOf(message)) sum += counter.count(text);
  if (message.role === 'assistant') for (const { tokens } of message.reasoning ?? []) sum += tokens;
  return sum;
}

export function countMessages(counter: TokenCounter, messages: Iterable<Message>): number {
  let sum = 0;
  for (const message of messages) sum += countMessage(counter, message);
  return sum;
}

/** A whole turn, as `artifact_read` shows it. */
export function turnText({ turn, text, calls, results }: Exchange): string {
  const byId = new Map(results.map((result) => [result.id, result]));
  const blocks = calls.map((call) => {
    const args = [...argumentTexts(call.args)].join('\n');
    return `>>> ${call.tool}\n${args}\n<<<\n${byId.get(call.id)?.text ?? ''}`;
  });
  return [`turn ${turn}`, text, ...blocks].join('\n');
}
