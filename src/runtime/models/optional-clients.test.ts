import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, onTestFinished } from 'vitest';
import { installed, SDK_FOLDER } from '../../../test/agents/sdk-packages.ts';
import { serveTurns } from '../../../test/model-server/testing.ts';
import { openRegistry } from '../../../test/support/engine/registry.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { ChatReply, ToolDeclaration } from './client.ts';
import { loadDialect } from './dialects.ts';
import { userText } from './message.ts';

const weather: ToolDeclaration = {
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

interface Seen {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A provider on loopback: each request is kept, and answered by its path. */
async function provider(answers: Record<string, (body: Seen['body']) => Buffer | string | object>) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    seen.push({ path: request.url ?? '', headers: request.headers, body });
    const found = answers[request.url ?? '']?.(body);
    if (found === undefined) response.writeHead(404).end();
    else if (typeof found === 'string') response.writeHead(200, { 'content-type': 'text/event-stream' }).end(found);
    else if (Buffer.isBuffer(found))
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(found);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function open(client: { type: string; [key: string]: unknown }, configDir = SDK_FOLDER) {
  const { registry, records, keys } = openRegistry([{ name: 'p', models: [{ name: 'm' }], ...client }], { configDir });
  const model = registry.find('p');
  const chat = (stream: boolean) =>
    registry.client(model).chat({ model, messages: [userText('hi')], tools: [weather], stream });
  return { registry, chat, records, keys };
}

const shown = ({ content, finish, usage }: Omit<ChatReply, 'cost'>) => ({
  content: content.map((part) => (part.type === 'tool_call' ? [part.name, part.arguments] : part.text)),
  finish,
  tokens: [usage.input, usage.output],
});
const HELLO = { content: ['Hello.', ['weather', { city: 'Rome' }]], finish: 'tool_calls', tokens: [7, 3] };
const TURN = {
  text: 'Hello.',
  tools: [{ tool: 'weather', input: { city: 'Rome' } }],
  usage: { input: 7, output: 3 },
};

describe('azure-openai', () => {
  for (const api of ['responses', 'chat']) {
    verifies('R-80')
      .needs(installed('@ai-sdk/azure'), 'its package is not installed')
      .test(`speaks over HTTP, by its ${api} interface`, async () => {
        const { chat, keys } = open({
          type: 'azure-openai',
          api,
          api_key: 'k1',
          api_base: `${await serveTurns(TURN, TURN)}/v1`,
        });
        expect([shown(await chat(true)), shown(await chat(false)), keys.length]).toEqual([HELLO, HELLO, 2]);
      });
  }

  verifies('R-80')
    .needs(installed('@ai-sdk/azure'), 'its package is not installed')
    .test('finds the address of a deployment as Azure shows it', async () => {
      const dialect = await loadDialect('azure-openai', SDK_FOLDER);
      const addressFor = async (config: Record<string, unknown>, baseURL = 'https://r.openai.azure.com') => {
        const seen: [string, string | null][] = [];
        const fetch: typeof globalThis.fetch = async (url, init) => {
          seen.push([String(url), new Headers(init?.headers).get('api-key')]);
          return new Response('{}', { status: 400 });
        };
        const client = dialect.open({ name: 'p', baseURL, key: 'k', headers: {}, fetch, config });
        const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }];
        await expect(client.chat('mine').doGenerate({ prompt })).rejects.toThrow();
        return seen;
      };
      expect([
        await addressFor({}),
        await addressFor({ api: 'chat' }),
        await addressFor({ api_version: '2024-10-21' }),
        await addressFor({}, 'https://gateway.test/llm'),
      ]).toEqual([
        [['https://r.openai.azure.com/openai/v1/responses?api-version=v1', 'k']],
        [['https://r.openai.azure.com/openai/v1/chat/completions?api-version=v1', 'k']],
        [['https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21', 'k']],
        [['https://gateway.test/llm/responses', 'k']],
      ]);
    });
});

verifies('R-80')
  .needs(installed('@ai-sdk/google-vertex'), 'its package is not installed')
  .test('vertexai speaks over HTTP, with the key of a project', async () => {
    const { chat, keys } = open({
      type: 'vertexai',
      api_key: 'k1',
      api_base: `${await serveTurns(TURN, TURN)}/v1beta`,
    });
    expect([shown(await chat(true)), shown(await chat(false)), keys]).toEqual([HELLO, HELLO, ['k1', 'k1']]);
  });

/** One message of Amazon's binary streams: lengths, headers, payload, each half under a checksum. */
function eventFrame(type: string, payload: object): Buffer {
  const header = (name: string, value: string) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
  };
  const headers = Buffer.concat([
    header(':event-type', type),
    header(':content-type', 'application/json'),
    header(':message-type', 'event'),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const start = Buffer.alloc(12);
  start.writeUInt32BE(headers.length + body.length + 16, 0);
  start.writeUInt32BE(headers.length, 4);
  start.writeUInt32BE(crc32(start.subarray(0, 8)), 8);
  const message = Buffer.concat([start, headers, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, checksum]);
}

describe('bedrock', () => {
  const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };
  const tool = { toolUseId: 't1', name: 'weather' };
  const answers = {
    '/model/m/converse': () => ({
      output: {
        message: {
          role: 'assistant',
          content: [{ text: 'Hello.' }, { toolUse: { ...tool, input: { city: 'Rome' } } }],
        },
      },
      stopReason: 'tool_use',
      usage,
    }),
    '/model/m/converse-stream': () =>
      Buffer.concat([
        eventFrame('messageStart', { role: 'assistant' }),
        eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hel' } }),
        eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'lo.' } }),
        eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
        eventFrame('contentBlockStart', { contentBlockIndex: 1, start: { toolUse: tool } }),
        eventFrame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"city":"Rome"}' } } }),
        eventFrame('contentBlockStop', { contentBlockIndex: 1 }),
        eventFrame('messageStop', { stopReason: 'tool_use' }),
        eventFrame('metadata', { usage, metrics: { latencyMs: 1 } }),
      ]),
  };

  verifies('R-80', 'R-17')
    .needs(installed('@ai-sdk/amazon-bedrock'), 'its package is not installed')
    .test('speaks over HTTP, signed with a secret of the vault', async () => {
      const { url, seen } = await provider(answers);
      const { chat } = open({
        type: 'bedrock',
        api_base: url,
        region: 'eu-west-1',
        access_key_id: '{{VAULTED}}',
        secret_access_key: 's',
      });
      expect([shown(await chat(true)), shown(await chat(false))]).toEqual([HELLO, HELLO]);
      const signed = expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=from-vault\/\d+\/eu-west-1\/bedrock\/aws4_request, /,
      );
      expect(seen.map(({ headers }) => headers.authorization)).toEqual([signed, signed]);
    });

  verifies('R-80')
    .needs(installed('@ai-sdk/amazon-bedrock'), 'its package is not installed')
    .test('takes a key in place of a signature, and says which setting it lacks', async () => {
      const { url, seen } = await provider(answers);
      await open({ type: 'bedrock', api_base: url, region: 'eu-west-1', api_key: 'k1' }).chat(false);
      expect(seen[0]?.headers.authorization).toBe('Bearer k1');
      const lacking = open({ type: 'bedrock', api_base: url, access_key_id: 'AKID', secret_access_key: 's' });
      await expect(lacking.chat(false)).rejects.toMatchObject({
        code: 'provider_rejected',
        message: expect.stringContaining("'region'"),
      });
    });
});

verifies('R-80')
  .needs(installed('@ai-sdk/cohere'), 'its package is not installed')
  .test('cohere speaks over HTTP: answers, vectors, ranks', async () => {
    const usage = {
      billed_units: { input_tokens: 7, output_tokens: 3 },
      tokens: { input_tokens: 7, output_tokens: 3 },
    };
    const call = (input: string) => ({ id: 't1', type: 'function', function: { name: 'weather', arguments: input } });
    const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
    const { url, seen } = await provider({
      '/v2/chat': ({ stream }) =>
        stream
          ? [
              event({ type: 'message-start', id: 'r1', delta: { message: { role: 'assistant' } } }),
              event({ type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } }),
              event({ type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hel' } } } }),
              event({ type: 'content-delta', index: 0, delta: { message: { content: { text: 'lo.' } } } }),
              event({ type: 'content-end', index: 0 }),
              event({ type: 'tool-call-start', delta: { message: { tool_calls: call('') } } }),
              event({
                type: 'tool-call-delta',
                delta: { message: { tool_calls: { function: { arguments: '{"city":"Rome"}' } } } },
              }),
              event({ type: 'tool-call-end' }),
              event({ type: 'message-end', delta: { finish_reason: 'TOOL_CALL', usage } }),
            ].join('')
          : {
              generation_id: 'r1',
              message: {
                role: 'assistant',
                content: [{ type: 'text', text: 'Hello.' }],
                tool_calls: [call('{"city":"Rome"}')],
              },
              finish_reason: 'TOOL_CALL',
              usage,
            },
      '/v2/embed': () => ({ embeddings: { float: [[1, 2]] }, meta: { billed_units: { input_tokens: 2 } } }),
      '/v2/rerank': () => ({
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.1 },
        ],
      }),
    });
    const models = [{ name: 'm' }, { name: 'e', type: 'embedding' }, { name: 'r', type: 'reranker' }];
    const { registry, chat } = open({ type: 'cohere', api_base: `${url}/v2`, api_key: 'k1', models });
    const [embedding, reranker] = [registry.find('p:e', 'embedding'), registry.find('p:r', 'reranker')];
    expect([
      shown(await chat(true)),
      shown(await chat(false)),
      (await registry.client(embedding).embed({ model: embedding, texts: ['a'] })).vectors,
      (await registry.client(reranker).rerank({ model: reranker, query: 'q', documents: ['a', 'b'], top_n: 2 }))
        .results,
      [...new Set(seen.map(({ headers }) => headers.authorization))],
    ]).toEqual([
      HELLO,
      HELLO,
      [[1, 2]],
      [
        { index: 1, score: 0.9 },
        { index: 0, score: 0.1 },
      ],
      ['Bearer k1'],
    ]);
  });

describe('a package that is not there', () => {
  const refusal = (type: string, configDir: string) =>
    open({ type, api_key: 'k' }, configDir)
      .chat(false)
      .catch(({ code, message }) => `${code}: ${message}`);

  verifies('R-80').test('is named, with the command that installs it', async () => {
    const packages: Record<string, string> = {
      'azure-openai': '@ai-sdk/azure@4',
      vertexai: '@ai-sdk/google-vertex@5',
      bedrock: '@ai-sdk/amazon-bedrock@5',
      cohere: '@ai-sdk/cohere@4',
    };
    const empty = temporaryFolder();
    for (const [type, wanted] of Object.entries(packages)) {
      const name = wanted.slice(0, -2);
      const command = `npm install --prefix '${empty}' ${wanted}`;
      expect(await refusal(type, empty)).toBe(
        `client_unsupported: Clients of type ${type} need the package ${name}, which is not installed: ${command}`,
      );
    }
  });

  verifies('R-80').test('is looked for again at the next call, and what is broken in it is said', async () => {
    const place = temporaryFolder();
    const { chat } = open({ type: 'cohere', api_key: 'k' }, place);
    const said = () => chat(false).catch(({ message }) => message);
    const first = await said();
    const packed = join(place, 'node_modules/@ai-sdk/cohere');
    mkdirSync(packed, { recursive: true });
    writeFileSync(join(packed, 'package.json'), '{"name": "@ai-sdk/cohere", "main": "index.cjs"}');
    writeFileSync(join(packed, 'index.cjs'), 'throw new Error("it has no bottom");');
    const second = await said();
    expect([first, second]).toEqual([
      expect.stringContaining('which is not installed'),
      'Clients of type cohere need the package @ai-sdk/cohere, which does not load: it has no bottom',
    ]);
  });

  verifies('R-80').test('of a version without its door is told so', async () => {
    const place = temporaryFolder();
    const packed = join(place, 'node_modules/@ai-sdk/cohere');
    mkdirSync(packed, { recursive: true });
    writeFileSync(join(packed, 'package.json'), '{"name": "@ai-sdk/cohere", "main": "index.cjs"}');
    writeFileSync(join(packed, 'index.cjs'), 'exports.cohere = 1;');
    expect(await refusal('cohere', place)).toContain('which has no createCohere: npm install --prefix');
  });
});
