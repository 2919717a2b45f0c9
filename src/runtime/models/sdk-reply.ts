import { parseJson } from '../../base/safe-json.ts';
import type { ChatDelta, ChatReply, FinishReason, Usage } from './client.ts';
import type { AssistantPart, Opaque } from './message.ts';
import type { SdkContent, SdkFinish, SdkStreamPart, SdkUsage } from './sdk-types.ts';

type Metadata = { providerMetadata?: Opaque | undefined };
const opaque = ({ providerMetadata }: Metadata) => (providerMetadata ? { opaque: providerMetadata } : {});

/** Joins the pieces of a stream, in the order in which they began. */
export class ReplyBuilder {
  readonly #sink: (delta: ChatDelta) => void;
  readonly #parts = new Map<string, AssistantPart>();
  /** Calls that have not ended: a limit may cut the reply inside one. */
  readonly #open = new Map<string, { name: string; text: string }>();
  #end: { finish: SdkFinish; usage: SdkUsage } | undefined;

  constructor(sink: (delta: ChatDelta) => void) {
    this.#sink = sink;
  }

  /** Once true, a second attempt would repeat text. */
  get hasBegun(): boolean {
    return this.#parts.size > 0 || this.#open.size > 0;
  }

  add(part: SdkStreamPart): void {
    switch (part.type) {
      case 'text-delta':
      case 'reasoning-delta':
        this.#append(part.type === 'text-delta' ? 'text' : 'reasoning', part);
        return;
      case 'text-end':
      case 'reasoning-end':
        this.#close(part.type === 'text-end' ? 'text' : 'reasoning', part);
        return;
      case 'tool-input-start':
        this.#open.set(part.id, { name: part.toolName, text: '' });
        return;
      case 'tool-input-delta': {
        const open = this.#open.get(part.id);
        if (open) open.text += part.delta;
        return;
      }
      case 'tool-call':
        this.#open.delete(part.toolCallId);
        this.#parts.set(`call ${part.toolCallId}`, toToolCall(part));
        return;
      case 'finish':
        this.#end = { finish: part.finishReason, usage: part.usage };
    }
  }

  /** Undefined if the stream ended without a finish event: the connection was lost. */
  reply(): Omit<ChatReply, 'cost'> | undefined {
    if (!this.#end || (this.#end.finish.unified === 'other' && this.#end.finish.raw === undefined)) return undefined;
    const cut = [...this.#open].map(
      ([id, { name, text }]): AssistantPart => ({ type: 'tool_call', id, name, arguments: text }),
    );
    const content = [...this.#parts.values(), ...cut].filter(isWorthKeeping);
    return { content, finish: toFinish(this.#end.finish), usage: toUsage(this.#end.usage) };
  }

  #append(type: 'text' | 'reasoning', { id, delta, providerMetadata }: { id: string; delta: string } & Metadata): void {
    if (delta === '' && providerMetadata === undefined) return;
    const key = `${type} ${id}`;
    const before = this.#parts.get(key);
    const text = (before && 'text' in before ? before.text : '') + delta;
    this.#parts.set(key, { ...before, type, text, ...opaque({ providerMetadata }) });
    if (delta !== '') this.#sink({ type, text: delta });
  }

  /** Signatures come with the end, also without any text if the reasoning is hidden. */
  #close(type: 'text' | 'reasoning', part: { id: string } & Metadata): void {
    const key = `${type} ${part.id}`;
    const before = this.#parts.get(key);
    if (!before && !part.providerMetadata) return;
    this.#parts.set(key, { text: '', ...before, type, ...opaque(part) } as AssistantPart);
  }
}

export function fromContent(content: readonly SdkContent[]): AssistantPart[] {
  return content
    .flatMap((part): AssistantPart[] => {
      if (part.type === 'text' || part.type === 'reasoning')
        return [{ type: part.type, text: part.text, ...opaque(part) }];
      return part.type === 'tool-call' ? [toToolCall(part)] : [];
    })
    .filter(isWorthKeeping);
}

function toToolCall(part: { toolCallId: string; toolName: string; input: string } & Metadata): AssistantPart {
  const parsed = parseJson(part.input === '' ? '{}' : part.input);
  const input = parsed.ok ? parsed.value : part.input;
  return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: input, ...opaque(part) };
}

function isWorthKeeping(part: AssistantPart): boolean {
  return part.type === 'tool_call' || part.text !== '' || part.opaque !== undefined;
}

export function toFinish({ unified }: SdkFinish): FinishReason {
  switch (unified) {
    case 'stop':
    case 'length':
      return unified;
    case 'tool-calls':
      return 'tool_calls';
    case 'content-filter':
      return 'content_filter';
    default:
      return 'other';
  }
}

export function toUsage({ inputTokens, outputTokens }: SdkUsage): Usage {
  return {
    input: inputTokens.total ?? 0,
    output: outputTokens.total ?? 0,
    cached: inputTokens.cacheRead ?? 0,
    reasoning: outputTokens.reasoning ?? 0,
  };
}
