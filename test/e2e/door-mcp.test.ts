import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, expect } from 'vitest';
import { connectMcp, ERAS } from '../support/surfaces/mcp-client.ts';
import { verifies } from '../support/verifies.ts';
import { REEF, serve } from './door-rig.ts';
import { makeWorld, type World } from './harness.ts';

/** The official SDK's client, over HTTP, at `reef serve` with the real daemon behind it. */

let world: World;
const opened: Client[] = [];
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
  await world.close();
});

function keep(client: Client): Client {
  opened.push(client);
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown>) {
  const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: args });
  return { isError, text: (content as { text: string }[])[0]?.text ?? '', value: structuredContent as never };
}

for (const era of ERAS) {
  verifies('U-24', 'U-10').test(
    `a ${era} client over HTTP starts a job, and the person at it answers what the model may not`,
    async () => {
      world = makeWorld();
      const agent = world.script('asks', [
        { permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } },
        { say: 'Done.' },
      ]);
      world.configure({ reef: { agents: { [agent]: {} } } });
      const door = await serve(world);
      const asked: string[] = [];
      const person = (message: string) => asked.push(message) > 0;
      const client = keep(await connectMcp({ ...door, era, person }));
      const model = keep(await connectMcp({ ...door, era }));
      const { agentId } = (await call(client, 'spawn', { agent, task: 'deploy it' })).value as { agentId: string };
      const waited = await call(client, 'wait', { ids: [agentId], until: ['needs_input'] });
      const { jobs } = waited.value as { jobs: { questions: { questionId: string; fingerprint: string }[] }[] };
      const answer = { id: agentId, decision: 'allow_once', ...pick(jobs[0]?.questions[0]) };
      const refused = await call(model, 'send', answer);
      expect([refused.isError, refused.text]).toEqual([true, expect.stringMatching(/^person_needed: /)]);
      expect(await call(client, 'send', answer)).toMatchObject({ isError: false, value: { delivered: true } });
      expect(asked).toEqual([expect.stringContaining('deploy')]);
      await world.until(agentId, ({ status }) => status === 'completed');
      expect((await call(client, 'output', { id: agentId })).text).toContain('deployed');
    },
  );
}

function pick(question: { questionId: string; fingerprint: string } | undefined) {
  return { questionId: question?.questionId, fingerprint: question?.fingerprint };
}

verifies('U-24', 'U-10').test('what /mcp offers is what `reef mcp` offers', async () => {
  world = makeWorld();
  const door = await serve(world);
  const env = Object.fromEntries(Object.entries(world.env).map(([key, value]) => [key, value ?? '']));
  const stdio = keep(new Client({ name: 'editor', version: '1' }));
  await stdio.connect(
    new StdioClientTransport({ command: process.execPath, args: [REEF, 'mcp'], cwd: world.repository, env }),
  );
  const expected = await stdio.listTools();
  for (const era of ERAS) {
    const client = keep(await connectMcp({ ...door, era }));
    expect((await client.listTools()).tools).toEqual(expected.tools);
    expect([client.getServerVersion(), client.getInstructions()]).toEqual([
      stdio.getServerVersion(),
      stdio.getInstructions(),
    ]);
  }
});

verifies('U-10', 'Q-31').test(
  'a client of `reef mcp` reads on when its daemon was killed, between two calls and during one',
  async () => {
    world = makeWorld();
    const env = Object.fromEntries(Object.entries(world.env).map(([key, value]) => [key, value ?? '']));
    const client = keep(new Client({ name: 'editor', version: '1' }));
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [REEF, 'mcp'], cwd: world.repository, env }),
    );
    const agent = world.script('asks', [{ ask: { question: 'Which?' } }, { say: 'Done.' }]);
    world.configure({ reef: { agents: { [agent]: {} } } });
    const { agentId } = await world.client.call('spawn', { agent, task: 'ask' });
    await world.until(agentId, ({ status }) => status === 'awaiting_input');
    const seen = async () => {
      const { value } = await call(client, 'status', {});
      return (value as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
    };
    expect([await seen(), await seen()]).toEqual([[agentId], [agentId]]);
    await world.killDaemon();
    expect([await seen(), await seen()]).toEqual([[agentId], [agentId]]);
    const waited = call(client, 'wait', { ids: [agentId], until: ['done'] });
    await world.killDaemon();
    await world.client.call('send', { id: agentId, text: 'this one' });
    expect((await waited).value).toMatchObject({ met: true, jobs: [{ id: agentId, status: 'completed' }] });
  },
);
