import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import type { Message, ToolCallPart, ToolResultPart, UserPart } from '../models/message.ts';
import { newSessionState, type SessionState, sessionSchema } from './session-state.ts';

const partSchema = z.union([
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string() }) }),
]);
const toolsSchema = z.looseObject({
  text: z.string().default(''),
  tool_results: z.array(
    z.looseObject({
      call: z.looseObject({ name: z.string(), arguments: z.unknown(), id: z.string().nullish() }),
      output: z.unknown(),
    }),
  ),
});
const messageSchema = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(partSchema), toolsSchema]),
});
type OldMessage = z.infer<typeof messageSchema>;

const OLD_KEYS: Readonly<Record<string, string>> = {
  use_tools: 'enabled_tools',
  compress_threshold: 'compression_threshold',
};

/** Reads a session of Loki or aichat: one file per name, with the content of messages as text. */
export function parseLegacy(text: string, { id, file }: { id: string; file: string }): SessionState {
  try {
    const raw = z.record(z.string(), z.unknown()).parse(parse(text, { maxAliasCount: 0 }));
    const urls = z.record(z.string(), z.string()).catch({}).parse(raw.data_urls);
    const entries = Object.entries(raw).map(([key, value]): [string, unknown] => [OLD_KEYS[key] ?? key, value]);
    const oldMessages = z.array(messageSchema).default([]);
    const messages = (key: string) => oldMessages.parse(raw[key] ?? []).flatMap((message) => modern(message, urls));
    const [compressed_messages, current] = [messages('compressed_messages'), messages('messages')];
    const state = { ...newSessionState(id), ...Object.fromEntries(entries), id, rev: 0, compressed_messages };
    // Loki keeps its summary in the history, as a system message.
    const summary = compressed_messages.length > 0 ? current.find((message) => message.role === 'system') : undefined;
    return sessionSchema.parse({
      ...state,
      summary: summary?.content ?? null,
      messages: current.filter((message) => message !== summary),
    });
  } catch (error) {
    throw new ReefError('session_invalid', `${file} cannot be imported: it is not a session of Loki`, { cause: error });
  }
}

function modern({ role, content }: OldMessage, urls: Readonly<Record<string, string>>): Message[] {
  if (typeof content !== 'string' && !Array.isArray(content)) return toolTurn(content);
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : userParts(content, urls);
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (role === 'system') return [{ role, content: text }];
  if (role === 'user') return [{ role, content: parts }];
  return [{ role: 'assistant', content: [{ type: 'text', text }] }];
}

function userParts(content: z.infer<typeof partSchema>[], urls: Readonly<Record<string, string>>): UserPart[] {
  return content.map((part): UserPart => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { url } = part.image_url;
    const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
    const name = urls[createHash('sha256').update(url).digest('hex')];
    const [mediaType, data] = inline ? [inline[1] ?? '', inline[2] ?? ''] : ['image/*', url];
    return { type: 'file', mediaType, data, ...(name !== undefined && { name }) };
  });
}

function toolTurn({ text, tool_results }: z.infer<typeof toolsSchema>): Message[] {
  const numbered = tool_results.map((result, index) => ({ ...result, id: result.call.id ?? `legacy-${index + 1}` }));
  const calls = numbered.map(({ call: { name, arguments: input }, id }): ToolCallPart => {
    return { type: 'tool_call', id, name, arguments: input };
  });
  const results = numbered.map(({ call: { name }, id, output }): ToolResultPart => {
    return { type: 'tool_result', id, name, output: typeof output === 'string' ? output : JSON.stringify(output) };
  });
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  return [
    { role: 'assistant', content: [...said, ...calls] },
    { role: 'tool', content: results },
  ];
}
