import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { serve } from './door-rig.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** A Claude Code of the user's own, no job of Reef: it knows Reef as one of its MCP servers. */

const CLI = join(import.meta.dirname, '..', '..', 'bin', 'reef.cjs');
const run = promisify(execFile);

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({});
});
afterAll(() => rig.close());

function reef(...args: string[]) {
  return run(process.execPath, [CLI, ...args], { cwd: rig.world.repository, env: rig.world.env });
}

/** `server` is what stands in its settings about Reef. */
async function userClaude(script: string, server: object): Promise<string> {
  const { command, env } = rig.settings('claude', rig.model.runUrl(script, 'user'));
  const [program = ''] = command;
  const mcp = ['--strict-mcp-config', '--mcp-config', JSON.stringify({ mcpServers: { reef: server } })];
  const args = ['-p', 'Delegate it', ...mcp, '--allowedTools', 'mcp__reef__spawn,mcp__reef__wait'];
  const claude = run(program, args, { cwd: rig.world.repository, env: { ...env, PWD: rig.world.repository } });
  claude.child.stdin?.end();
  return (await claude).stdout.trim();
}

verifies('U-10', 'U-11', 'Q-31')
  .needs(...installed('claude'))
  .test(
    'a Claude Code with `reef mcp` as its server spawns a job, which others read when that Claude is gone',
    async () => {
      const agent = rig.world.script('worker', [
        { say: 'I begin.' },
        { ask: { question: 'Which colour?', options: ['red', 'blue'] } },
        { edit: { path: 'colour.txt', content: '{answer}\n' } },
        { say: 'It is {answer}.' },
      ]);
      rig.configure({ [agent]: {} });
      rig.scripts.delegate = [
        { tools: [{ tool: 'mcp__reef__spawn', input: { agent, task: 'Paint it' } }] },
        { if: 'agentId|Job ', tools: [{ tool: 'mcp__reef__wait', input: { until: ['needs_input'] } }] },
        { if: 'Which colour', text: 'The job has a question for you.' },
      ];
      const stdio = { command: process.execPath, args: [CLI, 'mcp'], env: rig.world.env };
      expect(await userClaude('delegate', stdio)).toBe('The job has a question for you.');

      const { jobs } = JSON.parse((await reef('status', '--json')).stdout);
      expect(jobs).toMatchObject([{ agent, task: 'Paint it', status: 'awaiting_input', depth: 0 }]);
      const { id } = jobs[0];
      await reef('send', id, '--option', 'blue');
      await rig.world.until(id, ({ activity }) => activity === 'ended', 60_000);
      const { stdout } = await reef('output', id, '--json');
      expect(stdout).toContain('It is blue.');
      expect(await rig.world.job(id)).toMatchObject({ status: 'completed', lastOutput: 'It is blue.' });
    },
    SLOW_MS,
  );

verifies('U-24')
  .needs(...installed('claude'))
  .test(
    'a Claude Code with the address and the token of `reef serve` in its settings spawns a job',
    async () => {
      const agent = rig.world.script('greeter', [{ say: 'Hello from the job.' }]);
      rig.configure({ [agent]: {} });
      rig.scripts.greet = [
        { tools: [{ tool: 'mcp__reef__spawn', input: { agent, task: 'Greet' } }] },
        { if: 'agentId|Job ', tools: [{ tool: 'mcp__reef__wait', input: { until: ['done'] } }] },
        { if: 'Hello from the job', text: 'The job has greeted.' },
      ];
      const { port, token } = await serve(rig.world);
      const headers = { Authorization: `Bearer ${token}` };
      const http = { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers };
      expect(await userClaude('greet', http)).toBe('The job has greeted.');
      const { jobs } = await rig.world.client.call('status', {});
      expect(jobs.find((job) => job.agent === agent)).toMatchObject({ status: 'completed', task: 'Greet' });
    },
    SLOW_MS,
  );
