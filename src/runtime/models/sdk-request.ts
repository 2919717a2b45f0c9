import { markForCache } from './cache-marks.ts';
import type { ChatRequest } from './client.ts';
import type { AssistantPart, FilePart, Message, Opaque, ToolResultPart, UserPart } from './message.ts';
import type { SdkCallOptions, SdkDialect, SdkMessage, SdkOptions } from './sdk-types.ts';

type Content<Role extends SdkMessage['role']> = Extract<SdkMessage, { role: Role }>['content'];
type FunctionTool = Extract<NonNullable<SdkCallOptions['tools']>[number], { type: 'function' }>;

export function toCallOptions(request: ChatRequest, dialect: SdkDialect): SdkCallOptions {
  const { model, tools = [], temperature, top_p, signal } = request;
  const maxOutputTokens = request.max_output_tokens ?? model.data.max_output_tokens ?? dialect.maxOutputTokens;
  const prompt = request.messages.map(toSdkMessage);
  return {
    prompt: dialect.cacheMark ? markForCache(prompt, dialect.cacheMark) : prompt,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => ({
        type: 'function' as const,
        name: tool.name,
        description: tool.description,
        inputSchema: tool.parameters as FunctionTool['inputSchema'],
      })),
    }),
    ...(signal && { abortSignal: signal }),
    ...(dialect.options && { providerOptions: dialect.options }),
  };
}

function toSdkMessage(message: Message): SdkMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: message.content.map(toUserPart) };
    case 'assistant':
      return { role: 'assistant', content: message.content.flatMap(toAssistantPart) };
    case 'tool':
      return { role: 'tool', content: message.content.map(toResultPart) };
  }
}

const opaque = (value: Opaque | undefined) => (value ? { providerOptions: value as SdkOptions } : {});

function toUserPart(part: UserPart): Content<'user'>[number] {
  return part.type === 'text' ? { type: 'text', text: part.text, ...opaque(part.opaque) } : toFilePart(part);
}

function toFilePart({ mediaType, data, name }: FilePart): Content<'user'>[number] {
  const source = /^https?:\/\//.test(data)
    ? { type: 'url' as const, url: new URL(data) }
    : { type: 'data' as const, data };
  return { type: 'file', mediaType, data: source, ...(name !== undefined && { filename: name }) };
}

function toAssistantPart(part: AssistantPart): Content<'assistant'> {
  switch (part.type) {
    case 'text':
      // Providers refuse empty text.
      return part.text === '' ? [] : [{ type: 'text', text: part.text, ...opaque(part.opaque) }];
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...opaque(part.opaque) }];
    case 'tool_call': {
      const { id, name, arguments: input } = part;
      // Providers want an object; the result tells the model that its text was no JSON.
      const spoken = typeof input === 'object' && input !== null ? input : {};
      return [{ type: 'tool-call', toolCallId: id, toolName: name, input: spoken, ...opaque(part.opaque) }];
    }
  }
}

function toResultPart({ id, name, output, isError }: ToolResultPart): Content<'tool'>[number] {
  return {
    type: 'tool-result',
    toolCallId: id,
    toolName: name,
    output: { type: isError ? 'error-text' : 'text', value: output },
  };
}
