import { randomUUID } from 'node:crypto';
import { toToolCall } from './actions.ts';
import type { Json, Turn } from './script.ts';
import { asObject, asText, type ModelRequest, type Reply, stringsIn } from './wire.ts';

/** Agents tell the model where they work, each in its own words. */
function workingDirectory(body: Json): string | undefined {
  for (const text of stringsIn(body)) {
    const found = /working directory: *(\/[^\n<]*)|<cwd>(\/[^\n<]*)<\/cwd>/i.exec(text);
    if (found) return (found[1] ?? found[2])?.trimEnd();
  }
  return undefined;
}

/** The plainest value that fits a schema, for callers that parse what a model says. */
function sampleOf(schema: Json): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (asText(schema.type).toLowerCase()) {
    case 'string':
      return 'ok';
    case 'number':
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return false;
    case 'array':
      return [];
    default:
      return Object.fromEntries(
        Object.entries(asObject(schema.properties)).map(([key, value]) => [key, sampleOf(asObject(value))]),
      );
  }
}

/** Numbers that count up: an agent that looks for loops (gemini) takes a text that repeats itself for one. */
function filler(length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n += 1) text += ` ${n}`;
  return text.slice(0, length);
}

const blank = (request: ModelRequest) => ({
  id: randomUUID().replaceAll('-', '').slice(0, 24),
  model: request.model,
  thinking: '',
  calls: [],
  stop: 'end' as const,
});

/** Titles, routers, summaries: asked beside the conversation, so they get a word and use up no turn. */
export function sideReply(request: ModelRequest): Reply {
  const text = request.schema === undefined ? 'ok' : JSON.stringify(sampleOf(asObject(request.schema)));
  return { ...blank(request), text, usage: { input: 10, output: 2, cached: 0 } };
}

export function turnReply(turn: Turn, request: ModelRequest, body: Json): Reply {
  const offer = { tools: request.tools, cwd: workingDirectory(body) };
  return {
    ...blank(request),
    text: (turn.text ?? '') + filler(turn.bigText ?? 0),
    thinking: turn.thinking ?? '',
    calls: (turn.tools ?? []).map((action) => toToolCall(action, offer)),
    usage: { cached: 0, ...(turn.usage ?? { input: 100, output: 20 }) },
    stop: turn.stop ?? 'end',
  };
}
