import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished } from 'vitest';
import { serve, serveTurns } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ChatDelta, ChatRequest, ModelRegistry, ToolDeclaration } from './client.ts';
import { type Message, userText } from './message.ts';

/** The formats of four providers, spoken to a local server over HTTP (T20). */
const formats = [
  { type: 'openai', base: '/v1', model: 'gpt-5' },
  { type: 'openai', base: '/v1', model: 'gpt-4o', api: 'chat' },
  { type: 'claude', base: '/v1', model: 'claude-x' },
  { type: 'gemini', base: '/v1beta', model: 'gemini-x' },
  { type: 'openai-compatible', base: '/v1', model: 'any' },
];

const weather: ToolDeclaration = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

type Format = (typeof formats)[number];

function open({ base, model, ...format }: Format, url: string) {
  const config = {
    ...format,
    name: 'p',
    api_base: url + base,
    api_key: 'k1',
    models: [{ name: model, input_price: 1, output_price: 2 }],
  };
  return openRegistry([config]);
}

async function chat(registry: ModelRegistry, more: Partial<ChatRequest> = {}) {
  const deltas: ChatDelta[] = [];
  const model = registry.find('p');
  const request: ChatRequest = { model, messages: [userText('hi')], tools: [weather], stream: true, ...more };
  const reply = await registry.client(model).chat(request, (delta) => deltas.push(delta));
  const seen = (type: ChatDelta['type']) => deltas.flatMap((delta) => (delta.type === type ? [delta.text] : []));
  return { reply, text: seen('text'), reasoning: seen('reasoning'), deltas };
}

const code = (error: unknown) => (error instanceof ReefError ? error.code : error);
const plainText = (parts: { type: string; text?: string }[]) =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');

describe.each(formats)('the wire format of $type $api', (format) => {
  verifies('R-80', 'R-81', 'R-140').test('streams text piecewise, with usage and cost', async () => {
    const url = await serveTurns({
      text: 'Hello from the far side of the wire.',
      usage: { input: 100, output: 20, cached: 40 },
    });
    const { reply, text } = await chat(open(format, url).registry);
    // Anthropic counts cached input apart; the others within.
    const input = format.type === 'claude' ? 140 : 100;
    expect(reply).toMatchObject({
      finish: 'stop',
      usage: { input, output: 20, cached: 40 },
      cost: (input + 20 * 2) / 1_000_000,
    });
    expect([plainText(reply.content), text.join(''), text.length > 1]).toEqual([
      'Hello from the far side of the wire.',
      'Hello from the far side of the wire.',
      true,
    ]);
  });

  verifies('R-80', 'R-140').test('gives the same answer whole', async () => {
    const url = await serveTurns({ text: 'Hello.', tools: [{ tool: 'weather', input: { city: 'Rome' } }] });
    const { reply, text } = await chat(open(format, url).registry, { stream: false });
    expect([text, plainText(reply.content), reply.finish]).toEqual([['Hello.'], 'Hello.', 'tool_calls']);
    expect(reply.content.at(-1)).toMatchObject({ type: 'tool_call', name: 'weather', arguments: { city: 'Rome' } });
  });

  verifies('R-80', 'R-140').test('calls tools, and takes their results and its own reasoning back', async () => {
    const url = await serveTurns(
      { text: 'Looking.', thinking: 'Which city?', tools: [{ tool: 'weather', input: { city: 'Rome' } }] },
      { if: 'sunny, 31', text: 'It is sunny.' },
    );
    const { registry } = open(format, url);
    const first = await chat(registry);
    const call = first.reply.content.find((part) => part.type === 'tool_call');
    expect(call).toMatchObject({ name: 'weather', arguments: { city: 'Rome' } });
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      userText('weather in Rome?'),
      { role: 'assistant', content: JSON.parse(JSON.stringify(first.reply.content)) },
      { role: 'tool', content: [{ type: 'tool_result', id: call?.id ?? '', name: 'weather', output: 'sunny, 31' }] },
    ];
    const second = await chat(registry, { messages });
    expect([plainText(second.reply.content), second.reply.finish]).toEqual(['It is sunny.', 'stop']);
  });

  verifies('R-82', 'R-140').test('refuses a request by the words of the provider', async () => {
    const url = await serveTurns({ status: 400, text: 'no such parameter' });
    const { registry, records } = open(format, url);
    const error = await chat(registry).catch((caught: unknown) => caught);
    expect(code(error)).toBe('provider_rejected');
    expect(String(error)).toContain('no such parameter');
    expect(records.map(({ outcome, key_id }) => [outcome, key_id])).toEqual([['rejected 400', 'p#1']]);
  });

  verifies('R-82').test('keeps what had come when the stream breaks', async () => {
    const url = await serveTurns({ text: 'a text of several pieces that never comes to its end', cutAfter: 5 });
    const { registry, keys } = open(format, url);
    const seen: string[] = [];
    const model = registry.find('p');
    const request: ChatRequest = { model, messages: [userText('hi')], tools: [weather], stream: true };
    const error = await registry
      .client(model)
      .chat(request, ({ text }) => seen.push(text))
      .catch((caught: unknown) => caught);
    expect([
      code(error),
      'a text of several pieces that never comes to its end'.startsWith(seen.join('')),
      seen.length > 0,
      keys,
    ]).toEqual(['provider_stream_broken', true, true, ['k1']]);
  });

  verifies('R-82').test('an error inside the stream is told apart by what came before it', async () => {
    const url = await serveTurns({ text: 'some words first', streamError: 'overloaded' });
    const error = await chat(open(format, url).registry).catch((caught: unknown) => caught);
    expect(code(error)).toBe('provider_stream_broken');
  });
});

describe('what a provider wants back unread', () => {
  const cases = [
    { type: 'claude', base: '/v1', expected: { type: 'thinking', thinking: 'Which city?', signature: 'c2NyaXB0ZWQ=' } },
    { type: 'openai-compatible', base: '/v1', expected: { reasoning_content: 'Which city?' } },
  ];
  for (const { type, base, expected } of cases) {
    verifies('R-80').test(`goes back to ${type} as it came, after a stay in a file`, async () => {
      const server = await serve({
        main: [{ thinking: 'Which city?', tools: [{ tool: 'weather', input: { city: 'Rome' } }] }, { text: 'ok' }],
      });
      const { registry } = open({ type, base, model: 'm' }, server.runUrl('main'));
      const { reply } = await chat(registry);
      const call = reply.content.find((part) => part.type === 'tool_call');
      const kept = JSON.parse(JSON.stringify(reply.content));
      const result = { type: 'tool_result' as const, id: call?.id ?? '', name: 'weather', output: 'x' };
      await chat(registry, {
        messages: [userText('hi'), { role: 'assistant', content: kept }, { role: 'tool', content: [result] }],
      });
      const sent = JSON.stringify(server.requests[1]?.body.messages);
      expect(sent).toContain(JSON.stringify(expected).slice(1, -1));
    });
  }

  verifies('R-80').test('is ignored by another provider: a conversation may change models', async () => {
    const server = await serve({
      main: [
        { thinking: 'hm', tools: [{ tool: 'weather', input: { city: 'Rome' } }] },
        { text: 'ok', times: 4 },
      ],
    });
    const url = server.runUrl('main', 'one');
    const { reply } = await chat(open({ type: 'claude', base: '/v1', model: 'm' }, url).registry);
    const call = reply.content.find((part) => part.type === 'tool_call');
    const result = { type: 'tool_result' as const, id: call?.id ?? '', name: 'weather', output: 'x' };
    const messages: Message[] = [
      userText('hi'),
      { role: 'assistant', content: reply.content },
      { role: 'tool', content: [result] },
    ];
    const others = formats.filter(({ type }) => type !== 'claude');
    const texts = [];
    for (const format of others)
      texts.push(plainText((await chat(open(format, url).registry, { messages })).reply.content));
    expect(texts).toEqual(others.map(() => 'ok'));
  });
});

describe('an error inside the stream, before any word', () => {
  const failed = {
    type: 'response.failed',
    sequence_number: 1,
    response: { error: { code: 'server_error', message: 'overloaded' } },
  };

  for (const format of formats.filter(({ type, api }) => type !== 'openai' || api === 'chat')) {
    verifies('R-82').test(`of ${format.type} is answered by the next key`, async () => {
      const url = await serveTurns({ streamError: 'overloaded' }, { text: 'ok' });
      const { base, model, ...rest } = format;
      const config = { ...rest, name: 'p', api_base: url + base, api_key: ['k1', 'k2'], models: [{ name: model }] };
      const { registry, keys } = openRegistry([config]);
      const { reply } = await chat(registry);
      expect([plainText(reply.content), keys]).toEqual(['ok', ['k1', 'k2']]);
    });
  }

  verifies('R-82').test('of the Responses API makes every key be tried', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(failed)}\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const { registry, keys } = openRegistry([
      { type: 'openai', name: 'p', api_base: url, api_key: ['k1', 'k2'], models: [{ name: 'm' }] },
    ]);
    const error = await chat(registry).catch((caught: unknown) => caught);
    expect([code(error), keys]).toEqual(['keys_exhausted', ['k1', 'k2']]);
  });
});
