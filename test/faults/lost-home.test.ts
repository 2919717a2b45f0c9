import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { tagged } from '../../src/process/sweep.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** What a daemon does when its home, or the lock in it, is no longer the one it has opened. */

let world: World;
let agent: string;
beforeAll(() => {
  world = makeWorld();
  agent = world.script('sleeper', [{ say: 'here' }, { sleep: 600_000 }]);
});
afterAll(() => world.close());

async function atWork(): Promise<{ id: string; pid: number }> {
  const { agentId: id } = await world.client.call('spawn', { agent, task: 'stay' });
  await world.until(id, (job) => job.status === 'running' && job.lastOutput.includes('here'));
  const daemon = await world.client.daemon();
  if (!daemon) throw new Error('no daemon runs');
  return { id, pid: daemon.pid };
}

const isUp = (pid: number) => existsSync(`/proc/${pid}`);
const treeOf = async (id: string) => (await tagged()).filter(({ tag }) => tag === id);

for (const [how, take] of [
  ['removed', () => rmSync(world.home.dir, { recursive: true })],
  [
    'replaced',
    () => {
      renameSync(world.home.dir, join(world.root, 'moved'));
      mkdirSync(world.home.dir, { mode: 0o700 });
    },
  ],
] as const) {
  verifies('Q-112').test(
    `a home that was ${how}: its daemon ends with all its jobs, and the next one begins afresh`,
    async () => {
      const { id, pid } = await atWork();
      expect((await treeOf(id)).length).toBeGreaterThan(0);
      take();
      await eventually(
        () => treeOf(id),
        (tree) => tree.length === 0,
        { withinMs: 60_000 },
      );
      await eventually(
        () => isUp(pid),
        (up) => !up,
        { withinMs: 60_000 },
      );
      if (how === 'replaced') {
        for (const dir of [world.home.dir, join(world.root, 'moved')]) {
          const said = readFileSync(join(dir, 'daemon.log'), 'utf8').trim().split('\n').at(-1) ?? '';
          expect(JSON.parse(said)).toMatchObject({
            message: expect.stringContaining('removed or replaced'),
            jobs: [id],
          });
        }
        expect(existsSync(world.home.snapshot)).toBe(false);
      }
      expect((await world.client.call('status', {})).jobs).toEqual([]);
      expect((await world.client.daemon())?.pid).not.toBe(pid);
    },
  );
}

verifies('Q-112').test('a lock that was removed: the daemon steps back, and the next one has its job', async () => {
  const { id, pid } = await atWork();
  rmSync(world.home.lock);
  await eventually(
    () => isUp(pid),
    (up) => !up,
    { withinMs: 60_000 },
  );
  expect(await world.job(id)).toMatchObject({ status: 'running' });
  expect((await treeOf(id)).length).toBeGreaterThan(0);
  expect((await world.client.call('kill', { id })).status).toBe('killed');
});
