import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { REEF } from './runtime-rig.ts';
import { type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const ANSWER = 'Corals, and what lives between them.';

async function overMcp(task: string): Promise<unknown> {
  const client = new Client({ name: 'editor', version: '1' });
  const { repository: cwd, env } = world;
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [REEF, 'mcp'],
      cwd,
      env: env as Record<string, string>,
    }),
  );
  try {
    const { structuredContent } = await client.callTool({ name: 'spawn', arguments: { agent: 'native:guide', task } });
    const { agentId } = structuredContent as { agentId: string };
    await client.callTool({ name: 'wait', arguments: { ids: [agentId], until: ['done'] } });
    const status = await client.callTool({ name: 'status', arguments: { id: agentId } });
    return (status.structuredContent as { jobs: { lastOutput: string }[] }).jobs[0]?.lastOutput;
  } finally {
    await client.close();
  }
}

verifies('R-70').test(
  'a client over MCP asks an agent of yours by spawning it, and is told what `ask` tells at the command line',
  async () => {
    world = teamWorld({ guide: {} });
    const question = 'What is a reef made of?';
    world.play([{ agent: 'guide', user: question, says: ANSWER, times: 'always' }]);
    const asked = await world.begin(['ask', '--agent', 'guide', question]).done;
    expect([asked.stdout.trim(), await overMcp(question)]).toEqual([ANSWER, ANSWER]);
  },
  60_000,
);
