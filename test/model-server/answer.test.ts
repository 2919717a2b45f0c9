import { expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import type { Turn } from './script.ts';
import { post, postJson, postStream, serve, serveTurns } from './testing.ts';

const tools = [{ name: 'Bash' }];

const formats = {
  anthropic: { path: '/v1/messages', body: { model: 'm', messages: [], tools } },
  responses: { path: '/v1/responses', body: { model: 'm', input: [], tools: [{ type: 'function', name: 'Bash' }] } },
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'm', messages: [], tools: [{ type: 'function', function: { name: 'Bash' } }] },
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    body: { contents: [], tools: [{ functionDeclarations: tools }] },
  },
};

type Format = keyof typeof formats;
const names = Object.keys(formats) as Format[];

/** Asks for a stream in the way of the format. */
function streaming(url: string, name: Format): [string, Record<string, unknown>] {
  const { path, body } = formats[name];
  if (name === 'gemini') return [`${url}/v1beta/models/m:streamGenerateContent?alt=sse`, body];
  return [`${url}${path}`, { ...body, stream: true }];
}

const plainly = (url: string, name: Format) => post(url + formats[name].path, formats[name].body);

async function perFormat<T>(turns: Turn[], ask: (url: string, name: Format) => Promise<T>): Promise<Record<string, T>> {
  const server = await serve({ main: turns });
  const answers = names.map(async (name) => [name, await ask(server.runUrl('main', name), name)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

verifies('A-131').test('a failing turn answers its status so many times, in the words of the format', async () => {
  const turns: Turn[] = [{ status: 429, text: 'slow down', retryAfter: 3, times: 2 }, { text: 'ok' }];
  const answers = await perFormat(turns, async (url, name) => {
    const [first, second, third] = [await plainly(url, name), await plainly(url, name), await plainly(url, name)];
    const retryAfter = first.headers.get('retry-after');
    return { statuses: [first.status, second.status, third.status], retryAfter, body: await first.json() };
  });
  const common = { statuses: [429, 429, 200], retryAfter: '3' };
  const openai = {
    error: { message: 'slow down', type: 'invalid_request_error', param: null, code: 'rate_limit_exceeded' },
  };
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' };
  expect(answers).toEqual({
    anthropic: { ...common, body: { type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } } },
    responses: { ...common, body: openai },
    chat: { ...common, body: openai },
    gemini: {
      ...common,
      body: { error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details: [retry] } },
    },
  });
});

verifies('A-131').test('a broken stream ends in the error of the format in place of its end', async () => {
  const answers = await perFormat([{ text: 'half', streamError: 'boom' }], async (url, name) =>
    (await postStream(...streaming(url, name))).at(-1),
  );
  expect(answers).toEqual({
    anthropic: { type: 'error', error: { type: 'overloaded_error', message: 'boom' } },
    responses: {
      type: 'response.failed',
      response: { object: 'response', status: 'failed', error: { code: 'server_error', message: 'boom' } },
    },
    chat: { error: { message: 'boom', type: 'server_error', param: null, code: null } },
    gemini: { error: { code: 500, message: 'boom', status: 'INTERNAL', details: [] } },
  });
});

verifies('A-131').test('a stream error is HTTP 500 to a caller that does not stream', async () => {
  const answers = await perFormat([{ streamError: 'boom' }], async (url, name) => (await plainly(url, name)).status);
  expect(answers).toEqual({ anthropic: 500, responses: 500, chat: 500, gemini: 500 });
});

verifies('A-131').test('each way to stop has its name in each format', async () => {
  const seen: Record<string, unknown[]> = {};
  for (const stop of ['end', 'length', 'refusal'] as const) {
    const answers = await perFormat([{ text: 't', stop }], async (url, name) => (await plainly(url, name)).text());
    for (const [name, text] of Object.entries(answers)) {
      const found = /"(?:stop_reason|finish_reason|finishReason|reason|status)":"([^"]+)"/.exec(text)?.[1];
      const reason = /"reason":"([^"]+)"/.exec(text)?.[1];
      seen[name] = [...(seen[name] ?? []), reason ?? found];
    }
  }
  expect(seen).toEqual({
    anthropic: ['end_turn', 'max_tokens', 'refusal'],
    responses: ['completed', 'max_output_tokens', 'content_filter'],
    chat: ['stop', 'length', 'content_filter'],
    gemini: ['STOP', 'MAX_TOKENS', 'SAFETY'],
  });
});

/** What arrives before the connection breaks; undefined: not even headers. */
async function untilBroken(url: string, name: Format): Promise<string | undefined> {
  const answer = await post(...streaming(url, name)).catch(() => undefined);
  if (!answer?.body) return undefined;
  let text = '';
  try {
    for await (const chunk of answer.body) text += Buffer.from(chunk).toString();
  } catch {
    return text;
  }
  throw new Error('the stream ended in order');
}

verifies('A-131').test('a connection is cut after so many whole events', async () => {
  const turns: Turn[] = [
    { text: 'a text of some length, in pieces', cutAfter: 2 },
    { text: 'x', cutAfter: 0 },
  ];
  const answers = await perFormat(turns, async (url, name) => {
    const first = await untilBroken(url, name);
    return [first?.match(/\n\n/g)?.length, first?.endsWith('\n\n'), await untilBroken(url, name)];
  });
  const cut = [2, true, undefined];
  expect(answers).toEqual({ anthropic: cut, responses: cut, chat: cut, gemini: cut });
});

verifies('A-131').test('a hanging turn sends its content and no end, until the server closes', async () => {
  const server = await serve({ main: [{ text: 'some content', hang: true }] });
  const [url, body] = streaming(server.runUrl('main'), 'anthropic');
  const reader = (await post(url, body)).body?.getReader();
  let text = '';
  while (!text.includes('content_block_stop')) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error(`ended early: ${text}`);
    text += Buffer.from(value).toString();
  }
  const rest = reader?.read().then(
    () => 'ended',
    () => 'broken',
  );
  const early = await Promise.race([rest, 'nothing yet']);
  await server.close();
  const ended = text.includes('message_stop');
  expect({ early, rest: await rest, ended }).toEqual({ early: 'nothing yet', rest: 'broken', ended: false });
});

verifies('A-131').test('a big text has the length asked for', async () => {
  const url = await serveTurns({ text: 'start', bigText: 2_000_000 });
  const { content } = (await postJson(`${url}/v1/messages`, formats.anthropic.body)) as { content: { text: string }[] };
  expect([content[0]?.text.length, content[0]?.text.slice(0, 15)]).toEqual([2_000_005, 'start 0 1 2 3 4']);
});

verifies('A-131').test('a delay comes before the first byte and between events', async () => {
  const url = await serveTurns({ text: 'a text in three pieces, no less', delayMs: 60, chunkMs: 20 });
  const started = performance.now();
  const answer = await post(...streaming(url, 'gemini'));
  const first = performance.now() - started;
  const text = await answer.text();
  const events = text.split('\n\n').length - 1;
  // Timers may not fire early; how late they fire is the machine's affair.
  expect({ first: first >= 59, whole: performance.now() - started >= 59 + (events - 1) * 19, events }).toEqual({
    first: true,
    whole: true,
    events: 4,
  });
});
