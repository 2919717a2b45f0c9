/** Data that a provider wants back unread (signatures, item ids). Other providers ignore it. */
export type Opaque = Readonly<Record<string, unknown>>;

interface TextPart {
  type: 'text';
  text: string;
  opaque?: Opaque;
}

export interface FilePart {
  type: 'file';
  mediaType: string;
  /** Base64, or an http(s) address that the provider reads itself. */
  data: string;
  name?: string;
}

interface ReasoningPart {
  type: 'reasoning';
  text: string;
  opaque?: Opaque;
}

export interface ToolCallPart {
  type: 'tool_call';
  id: string;
  name: string;
  /** Parsed JSON, or the text if the model wrote no JSON; no tool accepts that. */
  arguments: unknown;
  opaque?: Opaque;
}

export interface ToolResultPart {
  type: 'tool_result';
  id: string;
  name: string;
  output: string;
  isError?: true;
}

export type UserPart = TextPart | FilePart;
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

interface SystemMessage {
  role: 'system';
  content: string;
}
export interface UserMessage {
  role: 'user';
  content: UserPart[];
}
export interface AssistantMessage {
  role: 'assistant';
  content: AssistantPart[];
  /** Cut short by a cancel or a broken stream. */
  interrupted?: true;
}
export interface ToolMessage {
  role: 'tool';
  content: ToolResultPart[];
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export const userText = (text: string): UserMessage => ({ role: 'user', content: [{ type: 'text', text }] });

export function textOf(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

export function toolCallsOf(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === 'tool_call');
}
