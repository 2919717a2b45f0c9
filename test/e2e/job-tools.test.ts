import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { jobSocketPath, jobToolsPath } from '../../src/agents/sandbox.ts';
import { until } from '../support/wait.ts';
import { makeWorld } from './harness.ts';

const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
const world = makeWorld();
afterAll(() => world.close());

/** The agent's side of `reef mcp` in a job, as Claude Code and Codex start it. */
async function toolsOf(jobId: string): Promise<Client> {
  const socket = jobSocketPath(world.home.sockets, jobId);
  const env = { PATH: process.env.PATH ?? '', REEF_SOCKET: socket };
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [REEF, 'mcp'], env }));
  onTestFinished(() => client.close());
  return client;
}

const idsIn = (result: object) =>
  (result as { structuredContent?: { jobs: { id: string }[] } }).structuredContent?.jobs.map(({ id }) => id);

test('an agent keeps its tools when the daemon is killed: what it waits for is answered, and the next call reaches the next daemon', async () => {
  const agent = world.script('asks', [{ ask: { question: 'Go on?', options: ['yes'] } }, { say: 'Done.' }]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'Ask' });
  await world.until(agentId, ({ status }) => status === 'awaiting_input');
  const tools = await toolsOf(agentId);
  const status = () => tools.callTool({ name: 'status', arguments: {} });
  expect(idsIn(await status())).toEqual([agentId]);

  const waiting = tools.callTool({ name: 'wait', arguments: { ids: [agentId], until: ['done'], timeoutMs: 45_000 } });
  await tools.callTool({ name: 'inbox', arguments: {} }); // the daemon has taken what came before
  await world.killDaemon();
  const cut = await waiting;
  expect([cut.isError, JSON.stringify(cut.content)]).toEqual([true, expect.stringContaining('daemon_unavailable')]);

  await world.client.call('status', {}); // the user's next command starts a daemon
  await until('the next daemon answers', async () => idsIn(await status())?.[0] === agentId);
  await world.client.call('kill', { id: agentId });
  await until('the pipe is told that the job is over', async () => (await status()).isError === true);
});

test('an agent that asks three thousand times and reads nothing fills no memory of the daemon, and all is answered when it reads', async () => {
  const agent = world.script('waits', [{ ask: { question: 'Go on?', options: ['yes'] } }]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'Wait' });
  await world.until(agentId, ({ status }) => status === 'awaiting_input');
  const { pid = 0 } = (await world.client.daemon()) ?? {};
  const kept = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  const before = kept();
  const socket = connect(jobToolsPath(world.home.sockets, agentId));
  onTestFinished(() => void socket.destroy());
  const ask = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' })}\n`;
  socket.write(Array.from({ length: 3_000 }, (_, id) => ask(id)).join(''));
  await until(
    'a command of the user is answered',
    async () => (await world.client.call('inbox', {})).questions.length > 0,
  );
  expect(kept() - before).toBeLessThan(80_000);
  const answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  const first = JSON.parse((await answers.next()).value);
  expect(first).toMatchObject({ id: 0, result: { tools: expect.any(Array) } });
  for (let id = 1; id < 3_000; id += 1) expect((await answers.next()).value.length).toBeGreaterThan(10_000);
});
