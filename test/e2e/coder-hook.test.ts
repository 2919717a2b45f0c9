import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { claudeAdapter } from '../../src/agents/claude/adapter.ts';
import { jobSocketDir } from '../../src/agents/sandbox.ts';
import type { Scripts } from '../model-server/script.ts';
import { tier } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** After its own compaction a command-line agent is told what is true of its worktree, and is never held up for it. */

/** Far beyond what is promised, for a machine that does other things as well. */
const TOO_LATE_MS = 20_000;
const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const scripts: Scripts = {
  compact: [
    { tools: [{ write: 'made.txt', content: 'made before\n' }] },
    { text: 'It is written.' },
    { if: 'summary', text: '<summary>A file was written.</summary>' },
    { text: 'I know what is there.' },
  ],
};

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(scripts);
});
afterAll(() => rig.close());

/** The command of the hook as Claude Code would run it, through its shell. */
function hookLine(): string {
  const mcp = { name: 'reef', command: process.execPath, args: [REEF, 'mcp'], env: { REEF_SOCKET: '' } };
  const request = { jobId: 'j', cwd: '/', freshSessionId: 's', prompt: '', clientVersion: '1', mcp };
  const { args } = claudeAdapter.command(request, { command: ['claude'], agentSandbox: true, settings: {} });
  return JSON.parse(args[args.indexOf('--settings') + 1] ?? '').hooks.SessionStart[0].hooks[0].command;
}

function runHook(socket: string): Promise<{ code: number; out: string; err: string; ms: number }> {
  const begun = performance.now();
  const env = { ...rig.world.env, REEF_MCP_REEF_SOCKET: socket };
  return new Promise((resolve) => {
    execFile(
      '/bin/sh',
      ['-c', hookLine()],
      { cwd: rig.world.repository, env, timeout: TOO_LATE_MS },
      (error, out, err) => {
        resolve({ code: error ? 1 : 0, out, err, ms: performance.now() - begun });
      },
    );
  });
}

verifies('S-49').test(
  'the hook prints the state of the job that runs it, and nothing where nobody answers',
  async () => {
    const agent = rig.world.script('waits', [{ edit: { path: 'made.txt', content: 'x\n' } }, { sleep: 60_000 }]);
    const { agentId } = await rig.world.client.call('spawn', { agent, task: 'wait' });
    await rig.world.until(agentId, ({ status }) => status === 'running');
    // It prints nothing either when the answer is late.
    const told = await eventually(
      () => runHook(join(jobSocketDir(rig.world.home.sockets, agentId), 'sock')),
      ({ out }) => out !== '',
    );
    expect([told.code, told.err, told.out]).toEqual([0, '', expect.stringContaining('--- Repository State ---')]);
    await rig.world.client.call('kill', { id: agentId });

    const deaf = join(rig.world.root, 'deaf.sock');
    const server = createServer(() => {}); // takes every connection and says nothing
    await new Promise<void>((resolve) => server.listen(deaf, resolve));
    const [late, nowhere] = [await runHook(deaf), await runHook(join(rig.world.root, 'none.sock'))];
    server.close();
    expect([late, nowhere]).toEqual([0, 0].map((code) => ({ code, out: '', err: '', ms: expect.any(Number) })));
    if (tier() !== 'test') expect(late.ms).toBeLessThan(2_000);
  },
  SLOW_MS,
);

verifies('S-49')
  .needs(...installed('claude'))
  .test(
    'Claude Code, once it has compacted its history, is told the state of its worktree',
    async () => {
      const leave = { keep: true, yes: true, unsafe: true };
      const cwd = rig.world.repository;
      const job = await rig.spawn({ agent: 'claude', script: 'compact', task: 'Write a file', cwd, ...leave });
      await job.paused();
      writeFileSync(join(job.cwd, 'outside.txt'), 'somebody else\n');
      // The hook is run once and has little time: what is slow when first asked for is done before.
      await rig.world.client.call('repo_state', {});
      await job.resume('/compact');
      await eventually(
        () => job.payloads('completed'),
        (turns) => turns.length === 2,
      );
      await job.resume('What is there?');
      await eventually(
        () => JSON.stringify(job.requests().at(-1)?.body ?? {}),
        (body) => body.includes('What is there?'),
      );
      const last = JSON.stringify(job.requests().at(-1)?.body ?? {});
      expect([last.includes('--- Repository State ---'), last.includes('outside.txt')]).toEqual([true, true]);
      await job.kill();
    },
    SLOW_MS,
  );
