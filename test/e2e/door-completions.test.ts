import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { deadline } from '../support/scale.ts';
import { type Knock, knock } from '../support/surfaces/door.ts';
import { openStream } from '../support/surfaces/event-stream.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';
import { serve } from './door-rig.ts';
import { makeWorld, type World } from './harness.ts';

/** Questions to a model and sessions over HTTP: the real daemon, its processes of the engine, and the scripted model. */

const SLOW_MS = 120_000;

/** It repeats what it was told before, so that a session shows. */
const SCRIPT = `
- when: { agent: helper }
  reply: { text: I am the helper. }
  times: always
- when: { last_user: 'Corals[^]*how do reefs grow' }
  reply: { text: By corals. }
  times: always
- when: { last_user: take your time }
  reply: { text: ${'slow '.repeat(400)}, chunk: 5, chunk_delay_ms: 100 }
  times: always
- when: { last_user: list the folder }
  reply: { text: "", tool_calls: [{ name: execute_command, arguments: { command: "sleep 611" } }] }
  times: always
- when: { any_user: my name is Ada, last_user: who am I }
  reply: { text: You are Ada. }
  times: always
- when: { last_user: say it shorter }
  reply: { text: Shorter. }
  times: always
- reply: { text: Hello there., usage: { input: 9, output: 4 } }
  times: always
`;

let world: World;
let ask: (asked: Knock) => Promise<Awaited<ReturnType<typeof knock>> & { json: never }>;
let door: { port: number; token: string };
beforeEach(async () => {
  world = makeWorld();
  const config = join(world.root, 'config', 'reef');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(config, path)), { recursive: true });
    writeFileSync(join(config, path), text);
  };
  world.configure({
    model: 'scripted:m',
    enabled_tools: 'execute_command',
    clients: [{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml', supports_function_calling: true }] }],
    reef: { permissions: [{ tool: 'execute_command', action: 'allow' }] },
  });
  write('model.yaml', SCRIPT);
  write('roles/short.md', 'say it shorter: __INPUT__');
  write('agents/helper/config.yaml', 'name: helper\ninstructions: You help.\n');
  write('rags/notes.yaml', `document_paths: ['${join(world.root, 'notes.md')}']\n`);
  writeFileSync(join(world.root, 'notes.md'), '# Growth\n\nCorals make reefs grow.\n');
  door = await serve(world);
  ask = async (asked) => (await knock(door.port, { ...asked, token: door.token })) as never;
});
afterEach(() => world.close());

/** The processes of the engine that this world has, and what they started. */
function engines(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${world.home.dir}/sessions`);
    } catch {
      return false; // ended meanwhile
    }
  });
}

const said = ({ status, code, json }: Awaited<ReturnType<typeof ask>>) => [
  status,
  code ?? (json as { final_message?: string }).final_message,
];

verifies('U-22').test(
  'a question is answered in its scope, as one document or as events',
  async () => {
    const complete = async (body: object) => said(await ask({ path: '/v1/completions', body }));
    const plain = await ask({ path: '/v1/completions', body: { input: 'hello' } });
    expect([plain.status, plain.json]).toMatchObject([
      200,
      { final_message: 'Hello there.', turns: 1, tool_call_count: 0, usage: { input: 9, output: 4 } },
    ]);
    expect(await complete({ input: 'hello', role: 'short' })).toEqual([200, 'Shorter.']);
    expect(await complete({ input: 'hello', agent: 'helper' })).toEqual([200, 'I am the helper.']);
    expect(await complete({ input: 'hello', model: 'scripted:m', prompt: 'Be kind.' })).toEqual([200, 'Hello there.']);
    expect(await complete({ input: 'hello', role: 'nobody' })).toEqual([404, 'role_not_found']);
    expect(await complete({ input: 'hello', role: 'short', agent: 'helper' })).toEqual([400, 'bad_request']);
    expect(await complete({ input: 'hello', temperature: 1 })).toEqual([400, 'bad_request']);

    const stream = await openStream(door.port, {
      ...door,
      path: '/v1/completions',
      body: { input: 'hello', stream: true },
    });
    const told: [string | undefined, { text?: string; final_message?: string }][] = [];
    for await (const { event, data, comment } of stream.messages)
      if (comment === undefined) told.push([event, JSON.parse(data ?? '')]);
    const words = told.filter(([event]) => event === 'assistant_delta').map(([, { text }]) => text);
    expect([stream.response.headers['content-type'], words.join('')]).toEqual(['text/event-stream', 'Hello there.']);
    expect([told[0]?.[0], told.at(-1)?.[0]]).toEqual(['started', 'result']);
    expect(told.at(-1)?.[1].final_message).toBe('Hello there.');
    const refused = await ask({ path: '/v1/completions', body: { input: 'x', role: 'nobody', stream: true } });
    expect(said(refused)).toEqual([404, 'role_not_found']);

    expect((await ask({ path: '/v1/models' })).json).toEqual({ models: ['scripted:m'] });
    expect((await ask({ path: '/v1/roles' })).json).toMatchObject({ roles: expect.arrayContaining(['short', 'code']) });
    expect((await ask({ path: '/v1/agents' })).json).toMatchObject({ agents: expect.arrayContaining(['helper']) });
    expect((await ask({ path: '/v1/rags' })).json).toEqual({ rags: ['notes'] });
  },
  SLOW_MS,
);

verifies('U-22').test(
  'a session has an id, keeps its scope and what was said, and is forgotten when asked',
  async () => {
    const begin = async (body: object) => (await ask({ path: '/v1/sessions', body })).json as { id: string };
    const { id } = await begin({ name: 'mine' });
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    const tell = async (session: string, input: string) =>
      said(await ask({ path: `/v1/sessions/${session}/completions`, body: { input } }));
    expect(await tell(id, 'my name is Ada')).toEqual([200, 'Hello there.']);
    await world.killDaemon();
    await world.client.call('status', {});
    await until('the door is open again', async () => (await world.client.daemon())?.door);
    expect(await tell(id, 'who am I')).toEqual([200, 'You are Ada.']);

    const others = [await begin({ agent: 'helper' }), await begin({ role: 'short' })];
    expect(await tell(others[0]?.id ?? '', 'who am I')).toEqual([200, 'I am the helper.']);
    expect(await tell(others[1]?.id ?? '', 'who am I')).toEqual([200, 'Shorter.']);
    const { id: withNotes } = await begin({ rag: 'notes' });
    const found = await ask({
      path: `/v1/sessions/${withNotes}/completions`,
      body: { input: 'how do reefs grow' },
    });
    expect(found.json).toMatchObject({
      final_message: 'By corals.',
      session_id: withNotes,
      sources: [{ source: expect.stringContaining('notes.md') }],
    });
    const { sessions } = (await ask({ path: '/v1/sessions' })).json as { sessions: { id: string; scope: object }[] };
    expect(sessions.map((each) => [each.id, each.scope])).toEqual([
      [id, {}],
      [others[0]?.id, { agent: 'helper' }],
      [others[1]?.id, { role: 'short' }],
      [withNotes, { rag: 'notes' }],
    ]);
    const { messages } = (await ask({ path: `/v1/sessions/${id}` })).json as { messages: { role: string }[] };
    expect(messages.filter(({ role }) => role !== 'system').map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    expect(said(await ask({ path: '/v1/sessions', body: { name: 'mine' } }))).toEqual([409, 'session_exists']);
    expect((await ask({ path: `/v1/sessions/${id}`, method: 'DELETE' })).json).toEqual({ id });
    expect(await tell(id, 'who am I')).toEqual([404, 'session_not_found']);
    expect(await tell('../../door', 'x')).toEqual([404, 'not_found']);
    expect(await tell('nobody', 'x')).toEqual([400, 'bad_request']);
  },
  SLOW_MS,
);

verifies('U-22', 'R-73').test(
  'a client that leaves cancels within two seconds what it asked, tools included, and keeps what was said',
  async () => {
    const { id } = (await ask({ path: '/v1/sessions', body: {} })).json as { id: string };
    for (const input of ['take your time', 'list the folder']) {
      const body = { input, stream: true };
      const stream = await openStream(door.port, { ...door, path: `/v1/sessions/${id}/completions`, body });
      await stream.take(2); // it has begun to answer
      if (input === 'list the folder') await until('the tool runs', () => sleeping().length > 0);
      const leftAt = performance.now();
      stream.close();
      await until('the engine is gone', () => engines().length === 0 && sleeping().length === 0);
      expect([input, performance.now() - leftAt < deadline(2_000)]).toEqual([input, true]);
    }
    // The same without a stream.
    const body = JSON.stringify({ input: 'take your time' });
    const headers = { authorization: `Bearer ${door.token}`, 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port: door.port, path: '/v1/completions', method: 'POST', headers });
    sent.on('error', () => {}).end(body); // we end it
    await until('the engine runs', () => engines().length > 0);
    const leftAt = performance.now();
    sent.destroy();
    await until('the engine is gone', () => engines().length === 0);
    expect(performance.now() - leftAt).toBeLessThan(deadline(2_000));

    const { messages } = (await ask({ path: `/v1/sessions/${id}` })).json as { messages: object[] };
    expect(messages).toMatchObject([
      {},
      { role: 'assistant', content: [{ text: expect.stringMatching(/^slow /) }], interrupted: true },
      {},
      {},
      { role: 'tool', content: [{ isError: true }] },
    ]);
  },
  SLOW_MS,
);

function sleeping(): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep\u0000611');
    } catch {
      return false;
    }
  });
}
