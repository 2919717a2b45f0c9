import { afterAll, expect } from 'vitest';
import { verifies } from '../verifies.ts';
import { makeWorld } from './harness.ts';

const world = makeWorld('reef-briefs-');
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
