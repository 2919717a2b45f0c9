import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { post, postJson, serve, serveTurns } from './testing.ts';

const chat = (content: string, ...tools: string[]) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  tools: tools.map((name) => ({ type: 'function', function: { name } })),
});

async function say(url: string, content = 'Go'): Promise<unknown> {
  const answer = await postJson(`${url}/v1/chat/completions`, chat(content, 'bash'));
  return (answer as { choices?: { message: { content: string } }[] }).choices?.[0]?.message.content ?? answer;
}

const refusal = (message: string) => ({ error: expect.objectContaining({ message: `model server: ${message}` }) });

verifies('A-130').test('two runs of one script each get all its turns', async () => {
  const server = await serve({ main: [{ text: 'one' }, { text: 'two' }] });
  const [a, b] = [server.runUrl('main'), server.runUrl('main', 'named')];
  expect([await say(a), await say(b), await say(a), await say(b)]).toEqual(['one', 'one', 'two', 'two']);
});

verifies('A-130').test('a request without tools gets a word and uses no turn', async () => {
  const url = await serveTurns({ text: 'one' });
  const title = await postJson(`${url}/v1/chat/completions`, { ...chat('Title?'), tools: undefined });
  expect(title).toMatchObject({ choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] });
  expect(await say(url)).toBe('one');
});

verifies('A-130').test('a request without tools that demands JSON gets JSON of that shape', async () => {
  const url = await serveTurns();
  const schema = {
    type: 'object',
    properties: {
      reason: { type: 'string' },
      score: { type: 'integer', minimum: 5 },
      sure: { type: 'boolean' },
      size: { type: 'NUMBER' },
      model: { type: 'string', enum: ['flash', 'pro'] },
      rest: { type: 'array' },
    },
  };
  const body = { contents: [], generationConfig: { responseJsonSchema: schema } };
  const answer = await postJson(`${url}/v1beta/models/m:generateContent`, body);
  const text = JSON.stringify({ reason: 'ok', score: 5, sure: false, size: 1, model: 'flash', rest: [] });
  expect(answer).toMatchObject({ candidates: [{ content: { parts: [{ text }] } }] });
});

verifies('A-131').test(
  'a script that is exhausted, unknown or asks for a missing tool answers 400 and says so',
  async () => {
    const server = await serve({ short: [{ text: 'one' }], wrong: [{ tools: [{ plan: 'A' }] }] });
    const short = server.runUrl('short', 'r');
    expect([
      await say(short),
      await say(short),
      await say(server.runUrl('none')),
      await say(server.runUrl('wrong')),
    ]).toEqual([
      'one',
      refusal('script "short" is exhausted: run "r" has had its 1 turns'),
      refusal('no script "none"; there are: short, wrong'),
      refusal('no such tool for {"plan":"A"}; the request offers: bash'),
    ]);
    expect((await post(`${short}/v1/chat/completions`, chat('Go', 'bash'))).status).toBe(400);
  },
);

verifies('A-131').test('a turn whose condition does not hold is passed over', async () => {
  const url = await serveTurns(
    { if: 'SQL(ite)?', text: 'a database' },
    { if: 'cheese', text: 'a sandwich' },
    { text: 'end' },
  );
  expect([await say(url, 'cheese, please'), await say(url, 'SQLite')]).toEqual(['a sandwich', 'end']);
});

test('a condition looks at what came since the model spoke, and not at its instructions', async () => {
  const url = await serveTurns(
    { if: 'old', text: 'wrong' },
    { if: 'system', text: 'wrong' },
    { if: 'new', text: 'right' },
  );
  const messages = [
    { role: 'user', content: 'old' },
    { role: 'assistant', content: 'hm' },
    { role: 'tool', content: 'new' },
    { role: 'system', content: 'system' },
  ];
  const answer = await postJson(`${url}/v1/chat/completions`, { ...chat('', 'bash'), messages });
  expect(answer).toMatchObject({ choices: [{ message: { content: 'right' } }] });
});

test('relative paths are taken from the working directory that the agent told the model', async () => {
  const url = await serveTurns({ tools: [{ write: 'a.txt', content: '' }] });
  const body = chat('You work here.\n  Working directory: /my repo\n  Shell: bash', 'write');
  const answer = JSON.stringify(await postJson(`${url}/v1/chat/completions`, body));
  expect(answer).toContain('/my repo/a.txt');
});

test('without a prefix the only script there is answers', async () => {
  const server = await serve({ main: [{ text: 'one' }] });
  expect(await say(server.url)).toBe('one');
});

test('requests are recorded with their run, and only the latest 500 kept', async () => {
  const server = await serve({ main: [] });
  for (let n = 0; n < 501; n += 1) await fetch(`${server.url}/s/main~r/v1/models?n=${n}`);
  const recorded = (n: number) => ({ method: 'GET', path: `/v1/models?n=${n}`, script: 'main', run: 'r', body: {} });
  expect(server.requests).toEqual(Array.from({ length: 500 }, (_, n) => recorded(n + 1)));
});

verifies('A-130').test('models are listed', async () => {
  const server = await serve({ main: [] });
  const answer = await fetch(`${server.url}/v1/models`);
  expect(await answer.json()).toMatchObject({ object: 'list', data: [{ id: 'scripted', object: 'model' }] });
});

test.each([
  { method: 'GET', path: '/v1/messages', status: 404 },
  { method: 'POST', path: '/v1/embeddings', body: '{}', status: 404 },
  { method: 'POST', path: '/v1/messages', body: '{', status: 400 },
])('$method $path is answered $status', async ({ path, status, ...request }) => {
  const server = await serve({ main: [] });
  const answer = await fetch(server.url + path, request);
  expect([answer.status, await answer.json()]).toEqual([status, { error: { message: expect.any(String) } }]);
});

test('only loopback is served', async () => {
  const server = await serve({ main: [] });
  const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outside = others.filter(({ internal, family }) => !internal && family === 'IPv4');
  const refused = outside.map(
    ({ address }) =>
      new Promise((resolve) => {
        const socket = connect({ host: address, port: Number(new URL(server.url).port) });
        socket.once('error', () => resolve('refused')).once('connect', () => resolve(socket.destroy() && 'served'));
      }),
  );
  expect(await Promise.all(refused)).toEqual(outside.map(() => 'refused'));
});
