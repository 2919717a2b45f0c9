import { openaiFailure } from './openai-failure.ts';
import type { Json } from './script.ts';
import {
  asList,
  asObject,
  asText,
  frame,
  newestText,
  type OfferedTool,
  pieces,
  type Reply,
  type WireFormat,
} from './wire.ts';

const ownItems = new Set(['function_call', 'custom_tool_call', 'reasoning']);

/** Codex names the servers of MCP in the description of `tool_search` only; called without a search, their tools run all the same. */
function searchable(description: string): OfferedTool[] {
  const servers = [...description.matchAll(/^- ([\w.-]+)(?::|$)/gm)];
  return servers.map(([, server]) => ({ name: '*', kind: 'function', namespace: `mcp__${server}` }));
}

function offered(tool: Json): OfferedTool[] {
  if (tool.type === 'function' || tool.type === 'custom') return [{ name: asText(tool.name), kind: tool.type }];
  if (tool.type === 'tool_search') return searchable(asText(tool.description));
  if (tool.type !== 'namespace') return [];
  const namespace = asText(tool.name);
  return asList(tool.tools).map((inner) => ({ name: asText(inner.name), kind: 'function', namespace }));
}

function items(reply: Reply): Json[] {
  const text = { type: 'output_text', text: reply.text, annotations: [] };
  const message = { type: 'message', id: `msg_${reply.id}`, status: 'completed', role: 'assistant', content: [text] };
  const summary = [{ type: 'summary_text', text: reply.thinking }];
  return [
    ...(reply.thinking ? [{ type: 'reasoning', id: `rs_${reply.id}`, summary, encrypted_content: null }] : []),
    ...(reply.text ? [message] : []),
    ...reply.calls.map((call, n) => ({
      ...(typeof call.input === 'string'
        ? { type: 'custom_tool_call', id: `ctc_${reply.id}${n}`, input: call.input }
        : { type: 'function_call', id: `fc_${reply.id}${n}`, arguments: JSON.stringify(call.input) }),
      status: 'completed',
      call_id: call.id,
      name: call.name,
      ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
    })),
  ];
}

function response(reply: Reply, fields: Json): Json {
  return { id: `resp_${reply.id}`, object: 'response', created_at: 0, model: reply.model, error: null, ...fields };
}

function finished(reply: Reply): Json {
  const { input, output, cached } = reply.usage;
  const reason = reply.stop === 'length' ? 'max_output_tokens' : 'content_filter';
  return response(reply, {
    status: reply.stop === 'end' ? 'completed' : 'incomplete',
    incomplete_details: reply.stop === 'end' ? null : { reason },
    output: items(reply),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    },
  });
}

/** The item as it is first announced, and the events that fill it. */
function streamed(item: Json): { start: Json; events: Json[] } {
  const item_id = item.id;
  if (item.type === 'message') {
    const part = asList(item.content)[0];
    const text = asText(part?.text);
    const at = { item_id, content_index: 0 };
    return {
      start: { ...item, status: 'in_progress', content: [] },
      events: [
        { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
        ...pieces(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
        { type: 'response.output_text.done', ...at, text },
        { type: 'response.content_part.done', ...at, part },
      ],
    };
  }
  if (item.type === 'reasoning') {
    const part = asList(item.summary)[0];
    const text = asText(part?.text);
    const at = { item_id, summary_index: 0 };
    return {
      start: { ...item, summary: [] },
      events: [
        { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
        ...pieces(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
        { type: 'response.reasoning_summary_text.done', ...at, text },
        { type: 'response.reasoning_summary_part.done', ...at, part },
      ],
    };
  }
  const isCustom = item.type === 'custom_tool_call';
  const field = isCustom ? 'input' : 'arguments';
  const name = isCustom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  return {
    start: { ...item, status: 'in_progress', [field]: '' },
    events: [
      ...pieces(asText(item[field])).map((delta) => ({ type: `${name}.delta`, item_id, delta })),
      { type: `${name}.done`, item_id, [field]: item[field] },
    ],
  };
}

const event = (data: Json) => frame(data, asText(data.type));

export const responses: WireFormat = {
  read(body) {
    const input = asList(body.input);
    const schema = asObject(asObject(body.text).format).schema;
    return {
      model: asText(body.model),
      stream: body.stream === true,
      tools: asList(body.tools).flatMap(offered),
      newest:
        typeof body.input === 'string'
          ? body.input
          : newestText(input, (item) => item.role === 'assistant' || ownItems.has(asText(item.type))),
      ...(schema === undefined ? {} : { schema }),
    };
  },
  plain: finished,
  frames(reply) {
    const start = response(reply, { status: 'in_progress', output: [] });
    const filled = items(reply).flatMap((item, output_index) => {
      const { start: announced, events } = streamed(item);
      return [
        { type: 'response.output_item.added', output_index, item: announced },
        ...events.map((data) => ({ ...data, output_index })),
        { type: 'response.output_item.done', output_index, item },
      ];
    });
    const end = {
      type: reply.stop === 'end' ? 'response.completed' : 'response.incomplete',
      response: finished(reply),
    };
    const numbered = [{ type: 'response.created', response: start }, ...filled, end].map((data, sequence_number) =>
      event({ ...data, sequence_number }),
    );
    return { content: numbered.slice(0, -1), end: numbered.slice(-1) };
  },
  failure: openaiFailure,
  brokenFrame: (message) =>
    event({
      type: 'response.failed',
      response: { object: 'response', status: 'failed', error: { code: 'server_error', message } },
    }),
  tokenCount: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
