import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from 'vitest';
import { toolsFor } from '../../src/surfaces/mcp/server.ts';
import { verifies } from '../support/verifies.ts';
import { makeWorld, type World } from './harness.ts';

/** The command line of the official MCP Inspector drives `reef mcp` over stdio. */

const root = join(import.meta.dirname, '..', '..');
const INSPECTOR = join(root, 'node_modules', '.bin', 'mcp-inspector');
const REEF = [process.execPath, join(root, 'bin', 'reef.cjs'), 'mcp'];

let world: World;
beforeAll(() => {
  world = makeWorld();
  world.configure({ timings: { linger: 100 } });
});
afterAll(() => world.close());

async function inspect(...options: string[]) {
  const env = Object.entries(world.env).flatMap(([name, value]) =>
    value === undefined ? [] : ['-e', `${name}=${value}`],
  );
  const args = ['--cli', ...REEF, ...env, ...options];
  const { stdout } = await promisify(execFile)(INSPECTOR, args, { cwd: world.repository, env: world.env });
  return JSON.parse(stdout);
}

async function call(tool: string, input: Record<string, unknown> = {}) {
  const pairs = Object.entries(input).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const args = pairs.flatMap((pair) => ['--tool-arg', pair]);
  return inspect('--method', 'tools/call', '--tool-name', tool, ...args);
}

verifies('U-10', 'U-11', 'U-17', 'A-151').test(
  'the Inspector lists the tools, and finds nothing wrong with their schemas',
  async () => {
    const { tools } = await inspect('--method', 'tools/list', '--strict');
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(toolsFor('client'));
    expect(existsSync(join(world.repository, '.reef'))).toBe(false);
  },
  60_000,
);

verifies('U-11', 'U-12', 'U-14', 'U-17', 'A-120').test(
  'the Inspector spawns a job, finds its question in the inbox, answers it and reads the output',
  async () => {
    const agent = world.script('asks', [
      { ask: { question: 'Which colour?', options: ['red', 'blue'] } },
      { say: 'It is {answer}.' },
    ]);
    world.configure({ timings: { linger: 100 }, agents: { [agent]: {} } });
    const spawned = await call('spawn', { agent, task: 'Paint it' });
    expect(spawned.isError ?? false).toBe(false);
    const { agentId } = spawned.structuredContent;
    expect(await world.job(agentId)).toMatchObject({ id: agentId, task: 'Paint it' });
    await world.until(agentId, ({ questions }) => questions.length > 0, 60_000);

    const question = { kind: 'choice', question: 'Which colour?', options: ['red', 'blue'], path: [agentId] };
    const { structuredContent: status } = await call('status');
    expect(status.jobs).toMatchObject([{ id: agentId, awaiting_input: true, questions: [question] }]);
    const { structuredContent: inbox } = await call('inbox');
    expect(inbox.questions).toMatchObject([{ ...question, jobId: agentId }]);

    const { structuredContent: sent } = await call('send', { id: agentId, option: ['blue'] });
    expect(sent).toMatchObject({ agentId, delivered: true });
    await world.until(agentId, ({ activity }) => activity === 'ended', 60_000);
    const { structuredContent: output } = await call('output', { id: agentId });
    expect(output).toEqual({
      agentId,
      status: 'completed',
      events: expect.arrayContaining([expect.objectContaining({ type: 'completed' })]),
      nextCursor: expect.any(String),
      truncated: false,
    });
    expect(JSON.stringify(output.events)).toContain('It is blue.');
  },
  120_000,
);
