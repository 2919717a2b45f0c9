import {
  type CallToolResult,
  completable,
  fromJsonSchema,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { addRounds } from './fixture-rounds.ts';

/** What the conformance suite wants to call, and Reef does not have: content of all kinds, resources, prompts, questions to a client. */

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const text = (words: string) => ({ type: 'text' as const, text: words });
const image = { type: 'image' as const, data: PIXEL, mimeType: 'image/png' };
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
});

type Answer = (args: Record<string, string>, context: ServerContext) => CallToolResult | Promise<CallToolResult>;

const CONTENT: Record<string, CallToolResult['content']> = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }],
  test_embedded_resource: [embedded('test://embedded-resource')],
  test_multiple_content_types: [text('Several:'), image, embedded('test://mixed-content-resource')],
};

const FORMS: Record<string, Record<string, object>> = {
  test_elicitation_sep1034_defaults: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('value') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('value') } },
  },
};

function titled(name: string) {
  return ['First', 'Second', 'Third'].map((title, n) => ({ const: `${name}${n + 1}`, title: `${title} Option` }));
}

const TALKING: Record<string, { takes: string[]; answer: Answer }> = {
  test_error_handling: {
    takes: [],
    answer: () => {
      throw new Error('This tool intentionally returns an error for testing');
    },
  },
  test_tool_with_logging: {
    takes: [],
    answer: async (_, { mcpReq }) => {
      for (const step of ['started', 'processing', 'completed']) await mcpReq.log('info', `Tool execution ${step}`);
      return { content: [text('logged')] };
    },
  },
  test_tool_with_progress: {
    takes: [],
    answer: async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken ?? 0;
      for (const progress of [0, 50, 100])
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      return { content: [text(String(progressToken))] };
    },
  },
  test_sampling: {
    takes: ['prompt'],
    answer: async ({ prompt = '' }, { mcpReq }) => {
      const messages = [{ role: 'user' as const, content: text(prompt) }];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 }, onItsStream(mcpReq));
      return { content: [text(`LLM response: ${JSON.stringify(content)}`)] };
    },
  },
  test_elicitation: {
    takes: ['message'],
    answer: ({ message = '' }, context) => form(message, { response: { type: 'string' } }, context),
  },
  ...Object.fromEntries(
    Object.entries(FORMS).map(([name, fields]) => [
      name,
      { takes: [], answer: (_: unknown, context: ServerContext) => form('Please review', fields, context) },
    ]),
  ),
};

/** A question goes to the client on the stream of the call it is about: there is no other. */
const onItsStream = ({ id }: ServerContext['mcpReq']) => ({ relatedRequestId: id });

async function form(message: string, properties: object, { mcpReq }: ServerContext): Promise<CallToolResult> {
  const requestedSchema = { type: 'object' as const, properties: properties as never };
  const { action, content } = await mcpReq.elicitInput({ message, requestedSchema }, onItsStream(mcpReq));
  return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)] };
}

export function fixtureServer(): McpServer {
  const changes = { listChanged: false };
  const capabilities = {
    ...{ tools: changes, prompts: changes, logging: {}, completions: {} },
    resources: { ...changes, subscribe: true },
  };
  const server = new McpServer({ name: 'fixture', version: '0' }, { capabilities });
  for (const [name, content] of Object.entries(CONTENT))
    server.registerTool(name, { description: name }, () => ({ content }));
  for (const [name, { takes, answer }] of Object.entries(TALKING)) {
    const properties = Object.fromEntries(takes.map((each) => [each, { type: 'string' }]));
    const inputSchema = fromJsonSchema({ type: 'object', properties, required: takes });
    server.registerTool(name, { description: name, inputSchema }, (args, context) => answer(args as never, context));
  }
  addResources(server);
  addPrompts(server);
  addRounds(server);
  return server;
}

function addResources(server: McpServer): void {
  const plain = { mimeType: 'text/plain' };
  for (const name of ['static-text', 'watched-resource']) {
    const uri = `test://${name}`;
    server.registerResource(name, uri, { ...plain, description: name }, () => ({
      contents: [{ uri, ...plain, text: 'This is the content of the static text resource.' }],
    }));
  }
  const binary = { uri: 'test://static-binary', mimeType: 'image/png', blob: PIXEL };
  server.registerResource('static-binary', binary.uri, { mimeType: 'image/png' }, () => ({ contents: [binary] }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { mimeType: 'application/json' }, ({ href }, { id }) => ({
    contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }],
  }));
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.server.setRequestHandler('logging/setLevel', () => ({}));
}

function addPrompts(server: McpServer): void {
  const says = (...content: object[]) => ({
    messages: content.map((each) => ({ role: 'user', content: each })) as never,
  });
  const word = completable(z.string(), (typed) => ['paris', 'park', 'party'].filter((each) => each.startsWith(typed)));
  const argsSchema = z.object({ arg1: word, arg2: z.string() });
  server.registerPrompt('test_simple_prompt', { description: 'Simple' }, () =>
    says(text('This is a simple prompt for testing.')),
  );
  server.registerPrompt('test_prompt_with_arguments', { description: 'Two words', argsSchema }, ({ arg1, arg2 }) =>
    says(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => says(embedded(resourceUri), text('Please process the embedded resource above.')),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A picture' }, () =>
    says(image, text('Please analyze the image above.')),
  );
}
