import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const world = makeWorld();
afterAll(() => world.close());

const JOBS = 6;

/** How often a process has read from a file, by the kernel's own count. */
function reads(pid: number): number {
  return Number(/^syscr: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

async function readsOf(pid: number, forMs: number): Promise<number> {
  const before = reads(pid);
  await sleep(forMs);
  return reads(pid) - before;
}

verifies('Q-116')
  .needs(process.platform === 'linux', 'only Linux counts the reads of a process')
  .test(
    'jobs that wait for an answer are looked at far less often than jobs at work',
    async () => {
      const agent = world.script('asker', [
        { say: 'I look.' },
        { ask: { question: 'Which way?', options: ['left', 'right'] } },
      ]);
      const spawned = Array.from({ length: JOBS }, () => world.client.call('spawn', { agent, task: 'ask' }));
      const ids = (await Promise.all(spawned)).map(({ agentId }) => agentId);
      for (const id of ids) await world.until(id, ({ status }) => status === 'awaiting_input');
      const { pid = 0 } = (await world.client.daemon()) ?? {};
      const atWork = await readsOf(pid, 1_000);
      await sleep(3_000);
      const waiting = await readsOf(pid, 1_000);
      expect(waiting / atWork).toBeLessThan(0.5);
      const [first = ''] = ids;
      await world.client.call('send', { id: first, option: ['left'] });
      await world.until(first, ({ status }) => status === 'completed');
    },
    60_000,
  );
