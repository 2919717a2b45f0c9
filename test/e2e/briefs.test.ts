import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';
import { call, teamWorld } from './team-rig.ts';

const world = makeWorld();
afterAll(() => world.close());

verifies('S-25').test(
  'an agent that comes into a worktree, or goes on in it, is told what is true there, in few tokens',
  async () => {
    world.configure({ reef: { timings: { linger: 100 } } });
    const writer = world.script('writer', [{ edit: { path: 'made.txt', content: 'made\n' } }, { say: 'Made it.' }]);
    const echo = world.script('echo', { steps: [{ say: 'heard {message}' }], onResume: [{ say: 'again {message}' }] });
    const first = await world.client.call('spawn', { agent: writer, task: 'Make it', worktree: '' });
    await world.until(first.agentId, ({ status }) => status === 'completed');
    const { agentId } = await world.client.call('spawn', {
      ...{ agent: echo, task: 'Look around', worktree: first.worktree ?? '' },
    });
    const came = await world.until(agentId, ({ status }) => status === 'completed');
    await world.client.call('resume', { id: agentId });
    const wentOn = await world.until(agentId, ({ status, launch }) => status === 'completed' && launch === 2);
    const texts = (await world.events(agentId)).flatMap(({ type, payload }) =>
      type === 'completed' && payload.scope === 'turn' ? [payload.result] : [],
    );
    for (const text of texts) {
      expect(text).toContain('--- Repository State ---');
      expect(text).toContain('made.txt');
      expect(text.length).toBeLessThan(5_000);
    }
    expect([texts.length, came.task, wentOn.task]).toEqual([2, 'Look around', 'Look around']);
    expect(texts[1]).toContain('Continue where you left off.');
  },
  60_000,
);

verifies('S-25').test(
  "an agent of the user's own is told what is true in its worktree, and what it did there is told to the next",
  async () => {
    const team = teamWorld(
      { hand: { global_tools: ['execute_command'] } },
      { reef: { timings: { linger: 100 }, permissions: [{ tool: 'execute_command', action: 'allow' }] } },
    );
    try {
      team.play([
        { agent: 'hand', user: 'made.txt', does: [call('execute_command', { command: 'echo by hand' })] },
        { agent: 'hand', tool: 'execute_command', says: 'I was told of it.' },
      ]);
      const writer = team.script('writer', [{ edit: { path: 'made.txt', content: 'made\n' } }, { say: 'Made it.' }]);
      const { agentId, worktree = '' } = await team.client.call('spawn', { agent: writer, task: 'Make', worktree: '' });
      await team.until(agentId, ({ status }) => status === 'completed');
      const hand = await team.start('hand', 'Look around', { worktree });
      const { status, lastOutput } = await team.until(hand, ({ activity }) => activity === 'ended', 60_000);
      expect([status, lastOutput]).toEqual(['completed', 'I was told of it.']);
      expect((await team.client.call('repo_state', { worktree, section: 'runs' })).text).toContain(
        '$ echo by hand → 0',
      );
    } finally {
      await team.close();
    }
  },
  120_000,
);

verifies('S-38').test(
  'what was cut from the prompts of a job long over is gone after the next start of the daemon',
  async () => {
    const { client, home } = world;
    await client.call('status', {});
    await world.stopDaemon();
    const trees = join(home.dir, 'artifacts', 'trees');
    mkdirSync(trees, { recursive: true });
    const store = (tree: string, hash: string, date: Date) => {
      const [list, text] = [join(trees, `${tree}.jsonl`), join(home.dir, 'artifacts', hash)];
      writeFileSync(list, `${JSON.stringify({ job: '', name: `a:${hash.slice(0, 7)}`, hash })}\n`);
      writeFileSync(text, tree);
      for (const path of [list, text]) utimesSync(path, date, date);
      return text;
    };
    const old = store('OLD', 'a'.repeat(64), new Date(Date.now() - 8 * 24 * 3_600_000));
    const fresh = store('FRESH', 'b'.repeat(64), new Date());
    await client.call('status', {});
    await vi.waitFor(() => expect(existsSync(old)).toBe(false), { timeout: 20_000, interval: 50 });
    expect([existsSync(join(trees, 'OLD.jsonl')), existsSync(fresh)]).toEqual([false, true]);
  },
  60_000,
);
