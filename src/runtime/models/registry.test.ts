import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { serve } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { overrideCatalogue, parseCatalogue } from './catalogue.ts';
import type { ModelData } from './client.ts';
import { userText } from './message.ts';
import { costOf } from './pooled-client.ts';
import { readCatalogue } from './registry.ts';

interface Seen {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** Answers every request by `reply`, and keeps what it was asked. */
async function answering(reply: (seen: Seen) => unknown, status = 200) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const entry = {
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    };
    seen.push(entry);
    response
      .writeHead(status, { 'content-type': 'application/json', 'retry-after': '3' })
      .end(JSON.stringify(reply(entry)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen };
}

const refusal = (act: () => unknown) => {
  try {
    return act();
  } catch (error) {
    return error instanceof ReefError ? [error.code, error.message] : error;
  }
};

describe('the registry', () => {
  const clients = [
    { type: 'openai', api_key: 'k' },
    {
      type: 'openai-compatible',
      name: 'ollama',
      api_base: 'http://127.0.0.1:1',
      models: [{ name: 'llama3:8b' }, { name: 'e', type: 'embedding' }],
    },
  ];

  verifies('R-80').test(
    'lists the models of the catalogue and of the configuration, and finds them by name',
    async () => {
      const { registry } = openRegistry(clients, { catalogue: readCatalogue() });
      expect(registry.first()?.id).toBe('openai:gpt-5');
      expect(registry.find('ollama:llama3:8b').data).toEqual({ name: 'llama3:8b', type: 'chat' });
      expect(registry.find('ollama').id).toBe('ollama:llama3:8b');
      expect(registry.find('openai', 'embedding').id).toBe('openai:text-embedding-3-large');
      expect(registry.list('embedding').map(({ id }) => id)).toEqual([
        'openai:text-embedding-3-large',
        'openai:text-embedding-3-small',
        'ollama:e',
      ]);
    },
  );

  test('passes a name on that is newer than the catalogue, but not past a list of the user', async () => {
    const { registry } = openRegistry(clients, { catalogue: readCatalogue() });
    expect(registry.find('openai:gpt-99')).toEqual({
      id: 'openai:gpt-99',
      client: 'openai',
      name: 'gpt-99',
      kind: 'chat',
      data: { name: 'gpt-99', type: 'chat' },
    });
    expect(refusal(() => registry.find('ollama:lama3:8b'))).toEqual([
      'model_unknown',
      'There is no model "ollama:lama3:8b"; did you mean ollama:llama3:8b?',
    ]);
    expect(refusal(() => registry.find('nobody'))).toEqual(['model_unknown', 'There is no model "nobody"']);
  });

  verifies('R-80').test('goes on with other clients when one has no package', async () => {
    const server = await serve({ main: [{ text: 'ok' }] });
    const { registry } = openRegistry([
      { type: 'cohere', models: [{ name: 'c' }] },
      { type: 'homemade', models: [{ name: 'h' }] },
      { type: 'openai-compatible', name: 'p', api_base: `${server.runUrl('main')}/v1`, models: [{ name: 'm' }] },
    ]);
    const say = (id: string) => {
      const model = registry.find(id);
      return registry.client(model).chat({ model, messages: [userText('hi')], stream: true });
    };
    await expect(say('cohere:c')).rejects.toMatchObject({
      code: 'client_unsupported',
      details: { type: 'cohere', package: '@ai-sdk/cohere' },
    });
    await expect(say('homemade:h')).rejects.toMatchObject({
      code: 'client_unsupported',
      details: { type: 'homemade' },
    });
    expect((await say('p:m')).content).toEqual([{ type: 'text', text: 'ok' }]);
  });

  verifies('R-80').test('takes the key of a client from its variable, and says who it is', async () => {
    const { url, seen } = await answering(() => ({ choices: [{ message: { role: 'assistant', content: 'ok' } }] }));
    const models = [{ name: 'm' }];
    const { registry, keys } = openRegistry([{ type: 'openai-compatible', name: 'my-llm', api_base: url, models }], {
      env: { MY_LLM_API_KEY: 'from-env' },
    });
    const model = registry.find('my-llm');
    await registry.client(model).chat({ model, messages: [userText('hi')], stream: false });
    expect([keys, seen[0]?.headers['user-agent']]).toEqual([['from-env'], expect.stringContaining('reef/test')]);
  });

  verifies('R-80').test('patches what is sent, by the name of the model', async () => {
    const { url, seen } = await answering(() => ({ choices: [{ message: { role: 'assistant', content: 'ok' } }] }));
    const patch = {
      chat_completions: {
        'm.*': {
          body: { seed: 7, temperature: null, nested: { a: 1 } },
          headers: { 'x-extra': 'yes', 'user-agent': null },
        },
        other: { body: { seed: 8 } },
      },
    };
    const models = [{ name: 'mine', patch: { body: { nested: { b: 2 } } } }];
    const { registry } = openRegistry([{ type: 'openai-compatible', name: 'p', api_base: url, patch, models }]);
    const model = registry.find('p');
    await registry
      .client(model)
      .chat({ model, messages: [userText('hi')], stream: false, temperature: 0.5, max_output_tokens: 9 });
    expect([seen[0]?.body, seen[0]?.headers['x-extra']]).toEqual([
      {
        model: 'mine',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
        seed: 7,
        nested: { a: 1, b: 2 },
      },
      'yes',
    ]);
  });

  verifies('R-80').test('embeds in batches and keeps the order', async () => {
    const { url, seen } = await answering(({ body }) => ({
      data: (body.input as string[]).map((text, index) => ({ index, embedding: [text.length, 1] })),
      usage: { prompt_tokens: 5, total_tokens: 5 },
    }));
    const models = [{ name: 'e', type: 'embedding', max_batch_size: 2, input_price: 2 }];
    const { registry } = openRegistry([{ type: 'openai-compatible', name: 'p', api_base: url, models }]);
    const model = registry.find('p:e', 'embedding');
    const client = registry.client(model);
    expect(await client.embed({ model, texts: ['a', 'bb', 'ccc', 'dddd', 'eeeee'] })).toEqual({
      vectors: [1, 2, 3, 4, 5].map((length) => [length, 1]),
      usage: { input: 15, output: 0, cached: 0, reasoning: 0 },
      cost: 30 / 1_000_000,
    });
    expect(seen.map(({ body }) => (body.input as string[]).length).sort()).toEqual([1, 2, 2]);
    expect(await client.embed({ model, texts: [] })).toMatchObject({ vectors: [] });
  });

  verifies('R-80').test('reranks best first, and leaves out what was not asked about', async () => {
    const { url, seen } = await answering(() => ({
      results: [
        { index: 1, relevance_score: 0.2 },
        { index: 0, relevance_score: 0.9 },
        { index: 7, relevance_score: 1 },
      ],
    }));
    const { registry } = openRegistry([
      { type: 'openai-compatible', name: 'p', api_base: url, api_key: 'k', models: [{ name: 'r', type: 'reranker' }] },
    ]);
    const model = registry.find('p:r', 'reranker');
    const reply = await registry.client(model).rerank({ model, query: 'q', documents: ['x', 'y'], top_n: 2 });
    expect([reply, seen[0]?.path, seen[0]?.body]).toEqual([
      {
        results: [
          { index: 0, score: 0.9 },
          { index: 1, score: 0.2 },
        ],
      },
      '/v1/rerank',
      { model: 'r', query: 'q', documents: ['x', 'y'], top_n: 2 },
    ]);
  });

  verifies('R-82').test('embeddings and ranks fail over like chats', async () => {
    const { url } = await answering(() => ({ error: { message: 'slow down' } }), 429);
    const models = [
      { name: 'e', type: 'embedding' },
      { name: 'r', type: 'reranker' },
    ];
    const { registry, keys } = openRegistry([
      { type: 'openai-compatible', name: 'p', api_base: url, api_key: ['a', 'b'], models },
    ]);
    const embedding = registry.find('p:e', 'embedding');
    await expect(registry.client(embedding).embed({ model: embedding, texts: ['a'] })).rejects.toMatchObject({
      code: 'keys_exhausted',
    });
    const { registry: other, keys: otherKeys } = openRegistry([
      { type: 'openai-compatible', name: 'p', api_base: url, api_key: ['a', 'b'], models },
    ]);
    const reranker = other.find('p:r', 'reranker');
    const rank = other.client(reranker).rerank({ model: reranker, query: 'q', documents: ['x'], top_n: 1 });
    await expect(rank).rejects.toMatchObject({ code: 'keys_exhausted' });
    expect([keys, otherKeys]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });
});

describe('the catalogue', () => {
  const data = (more: Partial<ModelData> = {}): ModelData => ({ name: 'm', type: 'chat', ...more });
  const usage = { input: 1_000_000, output: 500_000, cached: 400_000, reasoning: 0 };

  verifies('R-81').test('knows no cost where it knows no price', () => {
    expect([
      costOf(data(), usage),
      costOf(data({ input_price: 1 }), usage),
      costOf(data({ output_price: 1 }), usage),
      costOf(data({ input_price: 1 }), { ...usage, output: 0 }),
      costOf(data({ input_price: 2, output_price: 10 }), usage),
      costOf(data({ input_price: 2, output_price: 10, cached_price: 0.5 }), usage),
      costOf(data({ input_price: 0, output_price: 0 }), usage),
    ]).toEqual([null, null, null, 1, 7, 6.4, 0]);
  });

  verifies('R-81').test('is corrected by the override, entry by entry and field by field', () => {
    const base = parseCatalogue(
      '- {provider: p, models: [{name: a, input_price: 1, output_price: 2}, {name: b}]}\n- {provider: q, models: [{name: c}]}',
      'base.yaml',
    );
    const over = parseCatalogue(
      '{version: 1, list: [{provider: p, models: [{name: a, input_price: 9}, {name: n}]}]}',
      'o.yaml',
    );
    expect([...overrideCatalogue(base, over)]).toEqual([
      ['p', [data({ name: 'a', input_price: 9, output_price: 2 }), data({ name: 'b' }), data({ name: 'n' })]],
      ['q', [data({ name: 'c' })]],
    ]);
  });

  test('as shipped says nothing the schema refuses', () => {
    const path = join(import.meta.dirname, 'models.json');
    expect(readCatalogue()).toEqual(parseCatalogue(readFileSync(path, 'utf8'), path));
  });

  test('names the file that cannot be read', () => {
    expect(refusal(() => parseCatalogue('- {provider: 1}', '/x/models-override.yaml'))).toEqual([
      'config_invalid',
      expect.stringMatching(/^\/x\/models-override\.yaml: /),
    ]);
  });
});
