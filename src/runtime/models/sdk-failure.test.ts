import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type Message, userText } from './message.ts';
import { ProviderFailure } from './provider.ts';
import { toFailure } from './sdk-failure.ts';
import { ReplyBuilder } from './sdk-reply.ts';

interface Seen {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

async function answering(status: number, reply: unknown, headers: Record<string, string> = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    seen.push({
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    });
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen };
}

const wait = (headers: Record<string, string>, body = '') => {
  const error = Object.assign(new Error('slow down'), {
    statusCode: 429,
    responseHeaders: headers,
    responseBody: body,
  });
  return toFailure(error, { hasBegun: false, signal: undefined }).retryAfterMs;
};

describe('what a provider says about waiting', () => {
  verifies('R-82').test('is understood as seconds, milliseconds, a date, or Google’s word in the body', () => {
    const soon = wait({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }) ?? 0;
    expect([
      wait({ 'retry-after': '3' }),
      wait({ 'retry-after': '0.5' }),
      wait({ 'retry-after-ms': '250', 'retry-after': '9' }),
      soon > 50_000 && soon <= 60_000,
      wait({ 'retry-after': new Date(0).toUTCString() }),
      wait({ 'retry-after': 'soon' }),
      wait({}, '{"error":{"details":[{"retryDelay": "12.5s"}]}}'),
      wait({}),
    ]).toEqual([3_000, 500, 250, true, 0, undefined, 12_500, undefined]);
  });
});

test('failures are told apart by status, by kind of error, and by what came before', () => {
  const kind = (error: unknown, hasBegun = false, signal?: AbortSignal) => toFailure(error, { hasBegun, signal }).kind;
  const named = (name: string) => Object.assign(new Error('x'), { name });
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  expect([
    kind(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })),
    kind(named('AI_InvalidPromptError')),
    kind({ type: 'invalid_request_error', message: 'no' }),
    kind({ type: 'overloaded_error', message: 'busy' }),
    kind('text'),
    kind(cyclic),
    kind(new Error('terminated'), true),
    kind(new Error('x'), true, AbortSignal.abort()),
    kind(new ProviderFailure('auth', 'kept')),
  ]).toEqual(['transient', 'rejected', 'rejected', 'transient', 'transient', 'transient', 'broken', 'aborted', 'auth']);
  expect(
    toFailure(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }), {
      hasBegun: false,
      signal: undefined,
    }).message,
  ).toBe('fetch failed (ECONNREFUSED)');
});

test('a call that was cut by the limit is kept as the text it was', () => {
  const builder = new ReplyBuilder(() => {});
  builder.add({ type: 'tool-input-start', id: 'c1', toolName: 'fs_write' });
  builder.add({ type: 'tool-input-delta', id: 'c1', delta: '{"path": "a' });
  builder.add({
    type: 'finish',
    finishReason: { unified: 'length', raw: 'max_tokens' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 2, text: 2, reasoning: undefined },
    },
  });
  expect(builder.reply()).toEqual({
    content: [{ type: 'tool_call', id: 'c1', name: 'fs_write', arguments: '{"path": "a' }],
    finish: 'length',
    usage: { input: 1, output: 2, cached: 0, reasoning: 0 },
  });
});

test('arguments that are no JSON stay text, and go back to the model as none', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 't', arguments: 'not json' } };
  const { base, seen } = await answering(200, {
    choices: [{ message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }],
  });
  const { registry } = openRegistry([
    { type: 'openai-compatible', name: 'p', api_base: base, models: [{ name: 'm' }] },
  ]);
  const model = registry.find('p');
  const reply = await registry.client(model).chat({ model, messages: [userText('hi')], stream: false });
  expect(reply.content).toEqual([{ type: 'tool_call', id: 'c1', name: 't', arguments: 'not json' }]);
  const messages: Message[] = [
    userText('hi'),
    { role: 'assistant', content: reply.content },
    { role: 'tool', content: [{ type: 'tool_result', id: 'c1', name: 't', output: 'no', isError: true }] },
  ];
  await registry.client(model).chat({ model, messages, stream: false });
  const spoken = { tool_calls: [{ ...call, function: { name: 't', arguments: '{}' } }] };
  expect(seen[1]?.body.messages).toMatchObject([{ role: 'user' }, spoken, { role: 'tool' }]);
});

test('pictures travel as data or as addresses', async () => {
  const { base, seen } = await answering(200, { choices: [{ message: { role: 'assistant', content: 'ok' } }] });
  const { registry } = openRegistry([
    { type: 'openai-compatible', name: 'p', api_base: base, models: [{ name: 'm', real_name: 'wire-name' }] },
  ]);
  const model = registry.find('p');
  const content = [
    { type: 'text' as const, text: 'What?' },
    { type: 'file' as const, mediaType: 'image/png', data: 'aGk=', name: 'a.png' },
    { type: 'file' as const, mediaType: 'image/png', data: 'https://example.test/a.png' },
  ];
  await registry.client(model).chat({ model, messages: [{ role: 'user', content }], stream: false, top_p: 0.5 });
  expect(seen[0]?.body).toMatchObject({
    model: 'wire-name',
    top_p: 0.5,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          { type: 'image_url', image_url: { url: 'https://example.test/a.png' } },
        ],
      },
    ],
  });
});

test('OpenAI is told the organisation and to keep nothing; Anthropic what to cache and how much to say', async () => {
  const openai = await answering(400, { error: { message: 'no' } });
  const claude = await answering(400, { type: 'error', error: { type: 'invalid_request_error', message: 'no' } });
  const { registry } = openRegistry([
    { type: 'openai', api_base: openai.base, organization_id: 'org-1', api_key: 'k' },
    { type: 'claude', api_base: `${claude.base}/`, api_key: 'k' },
  ]);
  const messages: Message[] = [{ role: 'system', content: 'Be brief.' }, userText('hi')];
  for (const id of ['openai:gpt-5', 'claude:claude-new']) {
    const model = registry.find(id);
    await registry
      .client(model)
      .chat({ model, messages, stream: false })
      .catch((error: unknown) => expect(error).toBeInstanceOf(ReefError));
  }
  expect([openai.seen[0]?.headers['openai-organization'], openai.seen[0]?.body.store]).toEqual(['org-1', false]);
  expect(claude.seen[0]).toMatchObject({
    path: '/v1/messages',
    body: {
      max_tokens: 8_192,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }],
    },
  });
});

verifies('R-80').test('a client that lacks what it needs says so', async () => {
  const { registry } = openRegistry([
    { type: 'openai-compatible', name: 'p', models: [{ name: 'm' }] },
    { type: 'claude', models: [{ name: 'r', type: 'reranker' }] },
    { type: 'openai', patch: { chat_completions: { '(': {} } } },
  ]);
  const ask = (id: string) => {
    const model = registry.find(id);
    return registry.client(model).chat({ model, messages: [userText('hi')], stream: false });
  };
  await expect(ask('p:m')).rejects.toMatchObject({ code: 'config_invalid', message: 'The client p needs an api_base' });
  await expect(ask('openai:x')).rejects.toMatchObject({ code: 'config_invalid' });
  const model = registry.find('claude:r', 'reranker');
  const rank = registry.client(model).rerank({ model, query: 'q', documents: ['d'], top_n: 1 });
  await expect(rank).rejects.toMatchObject({ code: 'provider_rejected' });
});

verifies('R-80').test('OpenAI and Gemini embed in their own formats', async () => {
  const openai = await answering(200, {
    object: 'list',
    data: [{ index: 0, embedding: [1, 2] }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  });
  const gemini = await answering(200, { embedding: { values: [3, 4] } });
  const { registry } = openRegistry([
    { type: 'openai', api_base: openai.base, api_key: 'k' },
    { type: 'gemini', api_base: gemini.base, api_key: 'k' },
  ]);
  const embed = async (id: string) => {
    const model = registry.find(id, 'embedding');
    return (await registry.client(model).embed({ model, texts: ['a'] })).vectors;
  };
  expect([await embed('openai:e'), await embed('gemini:e')]).toEqual([[[1, 2]], [[3, 4]]]);
});
