import type { Json, Stop } from './script.ts';
import { asList, asObject, asText, frame, newestText, pieces, type Reply, type WireFormat } from './wire.ts';

const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

const stops: Record<Stop, string> = { end: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY' };

function chunk(reply: Reply, parts: Json[], last: Json = {}): Json {
  const candidates = [{ content: { role: 'model', parts }, index: 0, ...last }];
  return { candidates, modelVersion: reply.model, responseId: reply.id };
}

const calls = (reply: Reply) =>
  reply.calls.map((call) => ({ functionCall: { id: call.id, name: call.name, args: call.input } }));

function ending(reply: Reply): Json {
  const { input, output, cached } = reply.usage;
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
    cachedContentTokenCount: cached,
  };
  return { usageMetadata };
}

export const gemini: WireFormat = {
  read(body, path) {
    const config = asObject(body.generationConfig);
    const schema = config.responseJsonSchema ?? config.responseSchema;
    const declarations = asList(body.tools).flatMap((tool) => asList(tool.functionDeclarations));
    return {
      model: /models\/([^:]+):/.exec(path)?.[1] ?? '',
      stream: path.includes(':streamGenerateContent'),
      tools: declarations.map((tool) => ({ name: asText(tool.name), kind: 'function' as const })),
      newest: newestText(asList(body.contents), (item) => item.role === 'model'),
      ...(schema === undefined ? {} : { schema }),
    };
  },
  plain(reply) {
    const thoughts = reply.thinking ? [{ text: reply.thinking, thought: true }] : [];
    const parts = [...thoughts, ...(reply.text ? [{ text: reply.text }] : []), ...calls(reply)];
    return { ...chunk(reply, parts, { finishReason: stops[reply.stop] }), ...ending(reply) };
  },
  frames(reply) {
    return {
      content: [
        ...pieces(reply.thinking).map((text) => frame(chunk(reply, [{ text, thought: true }]))),
        ...pieces(reply.text).map((text) => frame(chunk(reply, [{ text }]))),
        ...calls(reply).map((part) => frame(chunk(reply, [part]))),
      ],
      end: [frame({ ...chunk(reply, [{ text: '' }], { finishReason: stops[reply.stop] }), ...ending(reply) })],
    };
  },
  failure({ status, message, retryAfter }) {
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` };
    const details = retryAfter === undefined ? [] : [retry];
    return { error: { code: status, message, status: statuses[status] ?? 'INTERNAL', details } };
  },
  brokenFrame: (message) => frame({ error: { code: 500, message, status: 'INTERNAL', details: [] } }),
  tokenCount: (tokens) => ({ totalTokens: tokens }),
};
