import type { TokenCounter } from '../base/tokens.ts';
import type { Message as PromptMessage, ToolCall } from '../protocol/repostate.ts';
import type { ContextManager } from '../repostate/prompt/context-manager.ts';
import type { Ledger } from '../repostate/prompt/ledger.ts';
import type { Exchange, ToolResult } from '../repostate/prompt/messages.ts';
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ToolMessage,
  ToolResultPart,
} from '../runtime/models/message.ts';
import type { CoderDeps } from './coder-deps.ts';

/** The prompt of the engine: not the history of the turn, but what the context manager keeps of it. */
export class BoundedPrompt {
  readonly #deps: Pick<CoderDeps, 'clock' | 'counter'>;
  readonly #context: ContextManager;
  #taken = 0;
  readonly #turn: () => number;
  /** The turn whose reply comes next. */
  #asked = 0;
  lastLedger: Ledger | undefined;

  constructor(deps: Pick<CoderDeps, 'clock' | 'counter'>, context: ContextManager, turn: () => number) {
    this.#deps = deps;
    this.#context = context;
    this.#turn = turn;
  }

  /** A new turn of the engine begins with an empty history. */
  begin(): void {
    this.#taken = 0;
  }

  build(messages: readonly Message[]): Message[] {
    this.take(messages);
    this.#asked = this.#turn();
    const prompt = this.#context.build(this.#deps.clock.now().getTime());
    this.lastLedger = prompt.ledger;
    return toModelMessages(prompt.messages);
  }

  /** Appends the exchanges that are new; also called at the end, when no prompt follows. */
  take(messages: readonly Message[]): void {
    for (; this.#taken < messages.length; this.#taken++) {
      const reply = messages[this.#taken];
      if (reply?.role !== 'assistant') continue;
      const after = messages[this.#taken + 1];
      const results = after?.role === 'tool' ? after : undefined;
      this.#context.append(toExchange(this.#asked, { reply, results }, this.#deps.counter));
    }
  }
}

const KINDS: Record<string, ToolResult['kind']> = { run_command: 'command', read_file: 'read' };

/** One reply with the results of its calls, as the context manager keeps it. */
export function toExchange(
  turn: number,
  { reply, results }: { reply: AssistantMessage; results: ToolMessage | undefined },
  counter: TokenCounter,
): Exchange {
  const reasoning = reply.content.filter((part) => part.type === 'reasoning');
  const calls = reply.content.flatMap((part): ToolCall[] =>
    part.type === 'tool_call' ? [{ id: part.id, tool: part.name, args: asRecord(part.arguments) }] : [],
  );
  return {
    turn,
    text: reply.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
    ...(reasoning.length > 0 && {
      reasoning: reasoning.map((part) => ({ data: part, tokens: counter.count(part.text) })),
    }),
    calls,
    results: (results?.content ?? []).map(toResult),
  };
}

function toResult({ id, name, output, isError }: ToolResultPart): ToolResult {
  const noop = output.startsWith('{"success":true,"noop":true');
  return { id, text: output, kind: KINDS[name] ?? 'other', ...(isError && { isError }), ...(noop && { noop }) };
}

function asRecord(value: unknown): Record<string, unknown> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : { input: value ?? null };
}

/** The prompt for the model client. The results of one reply are one message. */
export function toModelMessages(prompt: readonly PromptMessage[]): Message[] {
  const messages: Message[] = [];
  const names = new Map<string, string>();
  for (const message of prompt) {
    if (message.role === 'system') messages.push({ role: 'system', content: message.text });
    else if (message.role === 'user') messages.push({ role: 'user', content: [{ type: 'text', text: message.text }] });
    else if (message.role === 'assistant') {
      for (const { id, tool } of message.calls) names.set(id, tool);
      messages.push({ role: 'assistant', content: partsOf(message) });
    } else pushResult(messages, message, names.get(message.id) ?? '');
  }
  return messages;
}

function partsOf({ text, reasoning = [], calls }: Extract<PromptMessage, { role: 'assistant' }>): AssistantPart[] {
  return [
    ...reasoning.map(({ data }) => data as AssistantPart),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, tool, args }) => ({ type: 'tool_call' as const, id, name: tool, arguments: args })),
  ];
}

function pushResult(messages: Message[], result: Extract<PromptMessage, { role: 'tool' }>, name: string): void {
  const { id, text, isError } = result;
  const part: ToolResultPart = { type: 'tool_result', id, name, output: text, ...(isError && { isError }) };
  const last = messages.at(-1);
  if (last?.role === 'tool') last.content.push(part);
  else messages.push({ role: 'tool', content: [part] });
}
