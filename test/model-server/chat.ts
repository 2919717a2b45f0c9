import { openaiFailure } from './openai-failure.ts';
import type { Json, Stop } from './script.ts';
import { asList, asObject, asText, frame, newestText, pieces, type Reply, type WireFormat } from './wire.ts';

const stops: Record<Stop, string> = { end: 'stop', length: 'length', refusal: 'content_filter' };

const finishReason = (reply: Reply) =>
  reply.calls.length > 0 && reply.stop === 'end' ? 'tool_calls' : stops[reply.stop];

const envelope = (reply: Reply, object: string) => ({
  id: `chatcmpl-${reply.id}`,
  object,
  created: 0,
  model: reply.model,
});

function usage(reply: Reply): Json {
  const { input, output, cached } = reply.usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

const toolCalls = (reply: Reply) =>
  reply.calls.map((call, index) => ({
    index,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));

export const chat: WireFormat = {
  read(body) {
    const schema = asObject(asObject(body.response_format).json_schema).schema;
    return {
      model: asText(body.model),
      stream: body.stream === true,
      tools: asList(body.tools).map((tool) => ({
        name: asText(asObject(tool.function).name),
        kind: 'function' as const,
      })),
      newest: newestText(asList(body.messages), (item) => item.role === 'assistant'),
      ...(schema === undefined ? {} : { schema }),
    };
  },
  plain(reply) {
    const message = {
      role: 'assistant',
      content: reply.text,
      ...(reply.thinking ? { reasoning_content: reply.thinking } : {}),
      ...(reply.calls.length > 0 ? { tool_calls: toolCalls(reply) } : {}),
    };
    const choices = [{ index: 0, message, finish_reason: finishReason(reply) }];
    return { ...envelope(reply, 'chat.completion'), choices, usage: usage(reply) };
  },
  frames(reply) {
    const chunk = (delta: Json, finish_reason: string | null = null) =>
      frame({ ...envelope(reply, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason }] });
    const calls = toolCalls(reply).flatMap((call) => [
      chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: '' } }] }),
      ...pieces(call.function.arguments).map((text) =>
        chunk({ tool_calls: [{ index: call.index, function: { arguments: text } }] }),
      ),
    ]);
    return {
      content: [
        chunk({ role: 'assistant', content: '' }),
        ...pieces(reply.thinking).map((text) => chunk({ reasoning_content: text })),
        ...pieces(reply.text).map((text) => chunk({ content: text })),
        ...calls,
      ],
      end: [
        chunk({}, finishReason(reply)),
        frame({ ...envelope(reply, 'chat.completion.chunk'), choices: [], usage: usage(reply) }),
        'data: [DONE]\n\n',
      ],
    };
  },
  failure: openaiFailure,
  brokenFrame: (message) => frame(openaiFailure({ status: 500, message })),
  tokenCount: (tokens) => ({ input_tokens: tokens }),
};
