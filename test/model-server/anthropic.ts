import type { Json, Stop } from './script.ts';
import {
  asList,
  asObject,
  asText,
  frame,
  newestText,
  type OfferedTool,
  pieces,
  type Reply,
  stringsIn,
  type WireFormat,
} from './wire.ts';

const errorTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const stops: Record<Stop, string> = { end: 'end_turn', length: 'max_tokens', refusal: 'refusal' };

const stopReason = (reply: Reply) => (reply.calls.length > 0 && reply.stop === 'end' ? 'tool_use' : stops[reply.stop]);

/** Claude Code names most of its tools, and all of MCP's, in a message only; called directly they run all the same. */
function deferredTools(body: Json): OfferedTool[] {
  const texts = stringsIn([body.system, body.messages]).filter((text) =>
    text.includes('deferred tools are now available'),
  );
  return texts.flatMap((text) => {
    const list = /deferred tools are now available[^\n]*\n((?:[\w.-]+\n)+)/.exec(text)?.[1] ?? '';
    return list
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => ({ name, kind: 'function' as const }));
  });
}

function blocks(reply: Reply): Json[] {
  return [
    ...(reply.thinking ? [{ type: 'thinking', thinking: reply.thinking, signature: 'c2NyaXB0ZWQ=' }] : []),
    ...(reply.text ? [{ type: 'text', text: reply.text }] : []),
    ...reply.calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.input })),
  ];
}

function message(reply: Reply, content: Json[]): Json {
  const { input, cached } = reply.usage;
  return {
    id: `msg_${reply.id}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: cached, output_tokens: 1 },
  };
}

/** How a block looks before its first delta, and its deltas. */
function streamed(block: Json): { start: Json; deltas: Json[] } {
  if (block.type === 'thinking') {
    const deltas = pieces(asText(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking }));
    return {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature: block.signature }],
    };
  }
  if (block.type === 'text') {
    return {
      start: { type: 'text', text: '' },
      deltas: pieces(asText(block.text)).map((text) => ({ type: 'text_delta', text })),
    };
  }
  const deltas = pieces(JSON.stringify(block.input)).map((json) => ({ type: 'input_json_delta', partial_json: json }));
  return { start: { ...block, input: {} }, deltas };
}

const event = (data: Json) => frame(data, asText(data.type));

export const anthropic: WireFormat = {
  read(body) {
    const schema = asObject(asObject(body.output_config).format).schema;
    const listed = asList(body.tools).map((tool) => ({ name: asText(tool.name), kind: 'function' as const }));
    return {
      model: asText(body.model),
      stream: body.stream === true,
      tools: [...listed, ...deferredTools(body)],
      newest: newestText(asList(body.messages), (item) => item.role === 'assistant'),
      ...(schema === undefined ? {} : { schema }),
    };
  },
  plain(reply) {
    const { input, cached, output } = reply.usage;
    const usage = {
      input_tokens: input,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens: output,
    };
    return { ...message(reply, blocks(reply)), stop_reason: stopReason(reply), usage };
  },
  frames(reply) {
    const content = blocks(reply).flatMap((block, index) => {
      const { start, deltas } = streamed(block);
      return [
        event({ type: 'content_block_start', index, content_block: start }),
        ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
        event({ type: 'content_block_stop', index }),
      ];
    });
    const delta = { stop_reason: stopReason(reply), stop_sequence: null };
    return {
      content: [event({ type: 'message_start', message: message(reply, []) }), ...content],
      end: [
        event({ type: 'message_delta', delta, usage: { output_tokens: reply.usage.output } }),
        event({ type: 'message_stop' }),
      ],
    };
  },
  failure: ({ status, message: text }) => ({
    type: 'error',
    error: { type: errorTypes[status] ?? 'api_error', message: text },
  }),
  brokenFrame: (text) => event({ type: 'error', error: { type: 'overloaded_error', message: text } }),
  tokenCount: (tokens) => ({ input_tokens: tokens }),
};
