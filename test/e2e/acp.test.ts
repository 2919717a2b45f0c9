import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type ClientContext,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionNotification,
} from '@agentclientprotocol/sdk';
import { afterEach, expect, vi } from 'vitest';
import { ROOT } from '../support/source-files.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';
import { ADDS, byBlock, QUICK, RunsRig, WRITES_IT_RIGHT } from './runs-rig.ts';

vi.setConfig({ testTimeout: 240_000 });

let world: World | undefined;
const servers: ChildProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) server.kill('SIGKILL');
  await world?.close();
  world = undefined;
});

function start(of: World, ...args: string[]): ChildProcess {
  const server = spawn(process.execPath, [join(ROOT, 'bin/reef.cjs'), 'acp', ...args], {
    cwd: '/',
    env: of.env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  servers.push(server);
  return server;
}

interface Editor {
  agent: ClientContext;
  updates: SessionNotification['update'][];
  asked: RequestPermissionRequest[];
  close(): void;
}

/** The official client, as an editor uses it; `choose` is what the person clicks. */
async function edit(server: ChildProcess, choose: (asked: RequestPermissionRequest) => string): Promise<Editor> {
  const [updates, asked]: [Editor['updates'], Editor['asked']] = [[], []];
  const stream = ndJsonStream(
    Writable.toWeb(server.stdin as Writable) as never,
    Readable.toWeb(server.stdout as Readable) as never,
  );
  const connection = client({ name: 'an editor' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params);
      const wanted = choose(params);
      const option = params.options.find(({ name }) => name.startsWith(wanted));
      if (!option) return { outcome: { outcome: 'cancelled' } };
      return { outcome: { outcome: 'selected', optionId: option.optionId } };
    })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .connect(stream);
  const { agent } = connection;
  const hello = await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  expect(hello.agentCapabilities?.loadSession).toBe(true);
  return { agent, updates, asked, close: () => connection.close() };
}

const said = ({ updates }: Pick<Editor, 'updates'>) =>
  updates.flatMap((update) =>
    update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? [update.content.text] : [],
  );
const prompt = (text: string) => [{ type: 'text' as const, text }];
const ask = ({ agent }: Editor, sessionId: string, text: string) =>
  agent.request<PromptResponse>(methods.agent.session.prompt, { sessionId, prompt: prompt(text) });

const STEPS = {
  steps: [
    { think: 'What is there?' },
    { permit: { tool: 'shell', input: { command: 'touch made' }, steps: [{ shell: ['touch', 'made'] }] } },
    { edit: { path: 'sum.mjs', content: ADDS } },
    { ask: { question: 'Which shelf?', options: ['upper', 'lower'] } },
    { say: 'It lies on the {answer} one.' },
  ],
  onResume: [{ say: 'And now: {message}' }],
};

verifies('U-51').test(
  'an editor prompts, sees tool calls and diffs, answers, goes on, and loads the session in another process',
  async () => {
    world = makeWorld();
    const agent = world.script('helps', STEPS);
    const server = start(world, '--agent', agent);
    const editor = await edit(server, ({ options }) =>
      options.some(({ name }) => name === 'lower') ? 'lower' : 'Allow once',
    );
    const { sessionId } = await editor.agent.request(methods.agent.session.new, {
      cwd: world.repository,
      mcpServers: [],
    });
    const turn = await ask(editor, sessionId, 'Write sum');
    expect(turn.stopReason).toBe('end_turn');
    expect(editor.asked.map(({ toolCall }) => toolCall.title)).toEqual([expect.any(String), 'Which shelf?']);
    expect(JSON.stringify(editor.asked[0])).toContain('touch made');
    const [job] = (await world.client.call('status', {})).jobs;
    const diff = { type: 'diff', path: join(job?.cwd ?? '', 'sum.mjs'), oldText: null, newText: ADDS.trimEnd() };
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: 'tool_call_update', content: [diff] }),
    );
    expect(editor.updates).toContainEqual(expect.objectContaining({ sessionUpdate: 'tool_call', kind: 'edit' }));
    expect(said(editor).join('')).toMatch(/It lies on the lower one\.[\s\S]*reef diff \S+[\s\S]*reef accept/);
    const { jobs } = await world.client.call('status', {});
    expect([jobs.length, jobs[0]?.task, existsSync(join(world.repository, 'made'))]).toEqual([1, 'Write sum', false]);
    expect(readFileSync(join(jobs[0]?.cwd ?? '', 'sum.mjs'), 'utf8')).toBe(ADDS);

    await ask(editor, sessionId, 'shorter');
    expect(said(editor).join('')).toContain('And now: shorter');
    editor.close();

    const second = await edit(start(world, '--agent', agent), () => 'Deny');
    await second.agent.request(methods.agent.session.load, { sessionId, cwd: world.repository, mcpServers: [] });
    expect(said(second).join('')).toMatch(/It lies on the lower one\.[\s\S]*And now: shorter/);
    await ask(second, sessionId, 'once more');
    expect(said(second).join('')).toContain('And now: once more');
    expect((await world.client.call('status', {})).jobs.length).toBe(1);
    second.close();
  },
);

verifies('U-51').test('a turn is cancelled, and a question that was answered elsewhere is closed', async () => {
  world = makeWorld();
  const asks = world.script('asks', {
    steps: [{ ask: { question: 'Which?', options: ['a', 'b'] } }, { say: 'So {answer}.' }, { sleep: 600_000 }],
  });
  const editor = await edit(start(world, '--agent', asks), () => 'nothing');
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: world.repository,
    mcpServers: [],
  });
  const turn = ask(editor, sessionId, 'Choose');
  await turn;
  const [asked] = (await world.client.call('inbox', {})).questions;
  await world.client.call('send', { id: asked?.jobId ?? '', option: [2] });
  const next = ask(editor, sessionId, 'go on');
  await until('it goes on', () => said(editor).join('').includes('So b.'));
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  expect((await next).stopReason).toBe('cancelled');
  expect((await world.client.call('status', {})).jobs[0]).toMatchObject({ status: 'paused', reason: 'interrupted' });
});

verifies('U-51').test('a prompt is done by a workflow, whose blocks are the plan', async () => {
  const rig = new RunsRig();
  world = rig.world;
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
  const agent = rig.world.script('right', byBlock({ Quick__Write: WRITES_IT_RIGHT }));
  const editor = await edit(start(rig.world, '--workflow', 'Quick', '--agent', agent), () => 'Allow once');
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: rig.world.repository,
    mcpServers: [],
  });
  const turn = await ask(editor, sessionId, 'Write sum');
  const plans = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan');
  expect([turn.stopReason, plans.at(-1)]).toMatchObject([
    'end_turn',
    {
      entries: [
        { content: 'Write', status: 'completed' },
        { content: 'Test', status: 'completed' },
      ],
    },
  ]);
  expect(said(editor).join('')).toMatch(/Written\.[\s\S]*success[\s\S]*reef accept/);
});

verifies('U-51').test('what an editor sends wrong is answered, and the server goes on', async () => {
  world = makeWorld();
  const server = start(world);
  const lines: string[] = [];
  server.stdout?.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n').filter(Boolean)));
  const say = async (line: string) => {
    const before = lines.length;
    server.stdin?.write(`${line}\n`);
    await until(`an answer to ${line}`, () => lines.length > before);
    return JSON.parse(lines.at(-1) ?? '{}') as unknown;
  };
  expect(await say('{"jsonrpc":')).toMatchObject({ error: { code: -32_700 } });
  const call = (id: number, method: string, params: object) =>
    say(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  expect(await call(0, 'initialize', { protocolVersion: PROTOCOL_VERSION })).toMatchObject({ id: 0, result: {} });
  expect(await say('{"jsonrpc":"2.0","id":1,"method":"no/such"}')).toMatchObject({ id: 1, error: { code: -32_601 } });
  expect(await call(2, 'session/new', { cwd: '/', mcpServers: [] })).toMatchObject({
    error: { message: expect.stringContaining('is not inside a git repository'), data: { code: 'not_a_repository' } },
  });
  expect(await call(3, 'session/load', { cwd: world.repository, sessionId: '@last', mcpServers: [] })).toMatchObject({
    error: { data: { code: 'bad_request' } },
  });
  expect(await call(4, 'session/prompt', { sessionId: 'none', prompt: prompt('hello') })).toMatchObject({
    id: 4,
    error: {},
  });
  server.stdin?.end();
  expect(await once(server, 'exit')).toEqual([0, null]);
  expect((await world.client.call('status', {})).jobs).toEqual([]);
});
