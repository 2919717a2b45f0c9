import type { Json, Stop, Usage } from './script.ts';

export interface OfferedTool {
  /** `*`: any name, for the request lists the namespace alone. */
  name: string;
  /** `custom`: takes bare text in place of JSON (OpenAI). */
  kind: 'function' | 'custom';
  namespace?: string;
}

/** What the server needs to know of a request, whatever its format. */
export interface ModelRequest {
  model: string;
  stream: boolean;
  tools: OfferedTool[];
  /** What came since the model last spoke: user text and tool results. */
  newest: string;
  /** The JSON schema the answer must fit, if the caller demands one. */
  schema?: unknown;
}

export interface ToolCall {
  id: string;
  name: string;
  namespace?: string;
  input: Json | string;
}

export interface Reply {
  id: string;
  model: string;
  text: string;
  thinking: string;
  calls: ToolCall[];
  usage: Required<Usage>;
  stop: Stop;
}

export interface Failure {
  status: number;
  message: string;
  retryAfter?: number;
}

/** One provider's API. `frames` are whole server-sent events: the content, and what says that it is complete. */
export interface WireFormat {
  read(body: Json, path: string): ModelRequest;
  plain(reply: Reply): Json;
  frames(reply: Reply): { content: string[]; end: string[] };
  failure(failure: Failure): Json;
  brokenFrame(message: string): string;
  tokenCount(tokens: number): Json;
}

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function asList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(asObject) : [];
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Every string inside a JSON value, in order. */
export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** The text of the items after the last one that the model wrote itself. */
export function newestText(items: Json[], isModels: (item: Json) => boolean): string {
  const last = items.findLastIndex(isModels);
  return stringsIn(items.slice(last + 1).filter((item) => item.role !== 'system' && item.role !== 'developer')).join(
    '\n',
  );
}

/** Twelve characters a piece, as a model dribbles; a long text in 64 pieces, for a million events would test nothing more. */
export function pieces(text: string): string[] {
  const size = Math.max(12, Math.ceil(text.length / 64));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size));
}

export function frame(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}
