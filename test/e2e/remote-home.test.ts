import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { eventually, until } from '../support/wait.ts';
import { type Box, hasSshd, NO_SSHD, openBox, REEF } from './box-rig.ts';
import { Chat, TMUX } from './chat-rig.ts';
import type { World } from './harness.ts';

/** Another machine's Reef, over the person's own ssh. */
const needed = verifies('F-00').needs(hasSshd, NO_SSHD);

let on: Box;
let there: World;
let here: Box['here'];
let network: Box['network'];
let box: string;

beforeAll(async () => {
  if (!hasSshd) return;
  on = await openBox();
  ({ there, here, network, name: box } = on);
});
afterAll(() => on?.close());

const start = (...args: string[]) => on.start(...args);
const reef = (...args: string[]) => start(...args).ended;

needed.test('what is typed here happens there, by socket or by a command there', async () => {
  const story = there.script('story', [{ say: 'Hello from the box.' }]);
  const spawned = await reef('--on', box, 'spawn', story, 'Say hello', '--unsafe', '--json');
  expect(spawned).toMatchObject({ code: 0 });
  const { agentId } = JSON.parse(spawned.out);
  const waited = await reef('--on', box, 'wait', agentId, '--until', 'done');
  expect(waited.code).toBe(0);
  expect((await reef('--on', box, 'output', agentId)).out).toContain('Hello from the box.');
  expect(await there.job(agentId)).toMatchObject({ status: 'completed', task: 'Say hello' });

  const daemon = await reef('--on', box, 'daemon', 'status', '--json');
  expect(JSON.parse(daemon.out.trim().split('\n').at(-1) ?? '')).toMatchObject({ running: true, home: there.home.dir });
  const elsewhere = await reef('--on', 'ssh://-oProxyCommand=x/repo', 'ps');
  expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining('--on takes ssh://') });
});

needed.test('a follower misses nothing while the network is away, and an answer arrives once', async () => {
  const lines = Array.from({ length: 40 }, (_, at) => ({ say: `line ${at}.` }));
  const story = there.script('long', [
    ...lines,
    { ask: { question: 'Go on?', options: ['Yes', 'No'], as: 'on' } },
    ...lines,
  ]);
  const spawned = await reef('--on', box, 'spawn', story, 'Talk', '--unsafe', '--json');
  const { agentId } = JSON.parse(spawned.out);
  const follower = start('--on', box, 'output', agentId, '--follow', '--json');
  await until('the question is seen', () => follower.said.out.includes('Go on?') || undefined);

  network.cut();
  await until('the loss is told', () => follower.said.err.includes('The connection is lost') || undefined);
  expect(await reef('--on', box, 'ps')).toMatchObject({ code: 69, err: expect.stringContaining('box_unreachable') });
  const { questions } = await there.client.call('inbox', {});
  const question = questions.find(({ jobId }) => jobId === agentId);
  await there.client.call('send', { id: agentId, questionId: question?.questionId, option: ['Yes'] });
  await there.until(agentId, ({ status }) => status === 'completed');

  network.isCut = false;
  const { code, out, err } = await follower.ended;
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('Connected again.') });
  const seen = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).seq);
  const kept = (await there.events(agentId)).map(({ seq }) => seq);
  expect(seen).toEqual(kept);
});

needed.test('a daemon that was killed there is started again by a command here', async () => {
  await reef('--on', box, 'ps');
  await there.killDaemon();
  const spawned = await reef('--on', box, 'spawn', there.script('again', [{ say: 'Again.' }]), 'Again', '--unsafe');
  expect(spawned.code).toBe(0);
});

needed.test('an MCP client here works with the agents there', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const args = [REEF, '--on', box, 'mcp'];
  const env = here.env as Record<string, string>;
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: here.folder }));
  const { structuredContent, content } = await client.callTool({ name: 'status', arguments: {} });
  await client.close();
  expect(structuredContent, JSON.stringify(content)).toBeDefined();
  const { jobs } = structuredContent as { jobs: unknown[] };
  expect(jobs.length).toBeGreaterThan(1);
});

needed.test('what is missing there is said: the key, Reef itself, the repository', async () => {
  const config = join(here.folder, 'ssh-config');
  const strange = join(here.folder, 'strange');
  execFileSync('sh', [
    '-c',
    `sed 's|sshd/key|sshd/stranger|; s|Host box|Host stranger|' '${config}' >> '${strange}'; cat '${strange}' >> '${config}'`,
  ]);
  const locked = await reef('--on', `ssh://stranger${there.repository}`, 'ps');
  expect(locked).toMatchObject({ code: 69, err: expect.stringMatching(/Permission denied.*box_unreachable/s) });

  const program = join(there.root, 'sshd', 'bin', 'reef');
  const second = join(there.root, 'other');
  mkdirSync(second);
  const nowhere = await reef('--on', `ssh://box${second}`, 'ps');
  expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining('not_a_repository') });
  renameSync(program, `${program}.away`);
  const absent = await reef('--on', `ssh://box${second}`, 'ps');
  renameSync(`${program}.away`, program);
  expect(absent).toMatchObject({ code: 69, err: expect.stringContaining('reef_not_there') });
});

needed.test('the port of the page has to be free here too, and the command says so', async () => {
  // The box is this machine, so its own door is in the way.
  const refused = await reef('--on', box, 'open', '--json');
  expect([refused.code, JSON.parse(refused.out).error]).toMatchObject([69, { code: 'port_in_use' }]);
});

needed
  .needs(TMUX !== undefined, 'tmux is not installed')
  .test('`reef top` shows and answers here what goes on there', async () => {
    const story = there.script('asks', [{ ask: { question: 'Which port?', options: ['80', '81'], as: 'port' } }]);
    const { agentId } = await there.client.call('spawn', { agent: story, task: 'Open a port', sandbox: false });
    const seat = {
      ...{ root: here.folder, cwd: here.folder, env: { ...here.env, TERM: 'xterm-256color' } },
      write: (path: string, text: string) => {
        const file = join(here.folder, path);
        mkdirSync(join(file, '..'), { recursive: true });
        writeFileSync(file, text);
        return file;
      },
    };
    await using terminal = Chat.start(seat, ['--on', box, 'top']);
    await terminal.until(/Which port\?/);
    // Whoever decides has looked for at least half a second.
    const press = async () => {
      terminal.keys('2');
      return (await there.job(agentId))?.status;
    };
    await eventually(press, (status) => status === 'completed', { what: 'the answer is there' });
    terminal.keys('q');
    await terminal.until(/\[ended 0\]/);
  });
