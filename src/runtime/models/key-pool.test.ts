import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Turn } from '../../../test/model-server/script.ts';
import { serveTurns } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { deadline } from '../../../test/support/scale.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ModelRegistry } from './client.ts';
import { KeyPool } from './key-pool.ts';
import { textOf, userText } from './message.ts';

const tools = [{ name: 't', description: '', parameters: { type: 'object', properties: {} } }];

async function open(keys: string[] | string, ...turns: Turn[]) {
  const clock = manualClock();
  const url = await serveTurns(...turns);
  const client = {
    type: 'openai-compatible',
    name: 'p',
    api_base: `${url}/v1`,
    api_key: keys,
    models: [{ name: 'm' }],
  };
  return { clock, ...openRegistry([client], { clock }) };
}

async function say(registry: ModelRegistry): Promise<string> {
  const model = registry.find('p');
  const reply = await registry.client(model).chat({ model, messages: [userText('hi')], tools, stream: true });
  return textOf({ role: 'assistant', content: reply.content });
}

const failure = async (registry: ModelRegistry) => {
  const error = await say(registry).catch((caught: unknown) => caught);
  return error instanceof ReefError ? { code: error.code, ...error.details } : error;
};

describe('a pool of keys', () => {
  verifies('R-82').test('takes its keys in turn', async () => {
    const { registry, keys } = await open(['a', 'b', 'c'], { text: 'ok', times: 5 });
    for (let n = 0; n < 5; n++) await say(registry);
    expect(keys).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  const transient: [string, Turn][] = [
    ...[429, 500, 502, 503, 504, 529].map((status): [string, Turn] => [String(status), { status }]),
    ['a lost connection', { text: 'never', cutAfter: 0 }],
  ];
  for (const [name, turn] of transient) {
    verifies('R-82').test(`goes on with the next key after ${name}`, async () => {
      const { registry, keys, records } = await open(['a', 'b'], turn, { text: 'ok' });
      expect(await say(registry)).toBe('ok');
      expect(keys).toEqual(['a', 'b']);
      expect(records.map(({ key_id, outcome }) => [key_id, outcome])).toEqual([
        ['p#1', turn.status === undefined ? 'transient' : `transient ${turn.status}`],
        ['p#2', 'ok'],
      ]);
    });
  }

  for (const status of [401, 403]) {
    verifies('R-82').test(`fails at once on ${status}, naming the key but not its value`, async () => {
      const { registry, keys } = await open(['sk-secret-one', 'sk-secret-two'], { status, text: 'bad key' });
      const error = await failure(registry);
      expect([error, keys]).toEqual([
        { code: 'provider_auth', model: 'p:m', key_id: 'p#1', status },
        ['sk-secret-one'],
      ]);
      expect(JSON.stringify(error)).not.toContain('secret');
    });
  }

  verifies('R-82').test('says when the first key has rested once all of them failed', async () => {
    const { registry, keys, clock } = await open(
      ['a', 'b'],
      { status: 429, retryAfter: 30 },
      { status: 503, retryAfter: 7 },
      { text: 'back' },
    );
    const exhausted = { code: 'keys_exhausted', client: 'p', retry_at: '2026-01-01T00:00:07.000Z' };
    expect(await failure(registry)).toEqual({ ...exhausted, status: 503 });
    expect(await failure(registry)).toEqual(exhausted);
    await clock.advance(7_000);
    expect([await say(registry), keys]).toEqual(['back', ['a', 'b', 'b']]);
  });

  verifies('R-82').test(
    'without a word of the provider waits 1 s, doubling to 60 s, and from the start after a success',
    () => {
      const clock = manualClock();
      const pool = new KeyPool('p', ['a'], clock);
      const key = pool.take(new Set());
      if (!key) throw new Error('no key');
      const wait = () => {
        pool.cool(key, undefined);
        return pool.earliest().getTime() - clock.now().getTime();
      };
      const waits = Array.from({ length: 8 }, wait);
      pool.succeed(key);
      expect([...waits, wait()]).toEqual([1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 1000]);
    },
  );

  verifies('R-82').test('reveals a secret of the vault only for the request', async () => {
    const { registry, keys, records } = await open('{{VAULTED}}', { text: 'ok' });
    await say(registry);
    expect(keys).toEqual(['from-vault']);
    expect(JSON.stringify(records)).not.toContain('from-vault');
  });

  test('is one nameless key for a server that wants none', async () => {
    const { registry, keys } = await open('', { text: 'ok' });
    expect([await say(registry), keys]).toEqual(['ok', ['']]);
  });

  verifies('R-82').test('records each call without a word of the prompt', async () => {
    const { registry, records } = await open('a', { text: 'ok', usage: { input: 7, output: 3 } });
    await say(registry);
    expect(records).toEqual([
      {
        at: '2026-01-01T00:00:00.000Z',
        client: 'p',
        model: 'p:m',
        key_id: 'p#1',
        usage: { input: 7, output: 3, cached: 0, reasoning: 0 },
        duration_ms: 0,
        outcome: 'ok',
      },
    ]);
  });
});

describe('a cancelled call', () => {
  verifies('R-73').test('ends on both sides within 2 s', async () => {
    const closed: Promise<void>[] = [];
    const server = createServer((request, response) => {
      closed.push(new Promise((resolve) => request.socket.once('close', () => resolve())));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"id":"1","choices":[{"index":0,"delta":{"content":"Once upon"}}]}\n\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const { registry, records } = openRegistry([
      { type: 'openai-compatible', name: 'p', api_base: url, models: [{ name: 'm' }] },
    ]);
    const model = registry.find('p');
    const abort = new AbortController();
    let text = '';
    let cancelledAt = 0;
    const error = await registry
      .client(model)
      .chat({ model, messages: [userText('hi')], stream: true, signal: abort.signal }, (delta) => {
        text += delta.text;
        cancelledAt = performance.now();
        abort.abort();
      })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'cancelled' });
    await Promise.all(closed);
    expect([text, records.map(({ outcome }) => outcome), performance.now() - cancelledAt < deadline(2_000)]).toEqual([
      'Once upon',
      ['aborted'],
      true,
    ]);
    await new Promise((resolve) => server.close(resolve));
  });

  test('that was cancelled before it began asks nobody', async () => {
    const { registry, keys } = await open('a', { text: 'ok' });
    const model = registry.find('p');
    const signal = AbortSignal.abort();
    const call = registry.client(model).chat({ model, messages: [userText('hi')], stream: true, signal });
    await expect(call).rejects.toMatchObject({ code: 'cancelled' });
    expect(keys).toEqual([]);
  });
});
