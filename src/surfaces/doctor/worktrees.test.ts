import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { makeWorld, usersOwn, type World } from '../../../test/support/worktrees/world.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import type { Point } from '../../worktrees/deps.ts';
import type { GitWorktreeManager } from '../../worktrees/manager.ts';
import { examine } from './finding.ts';
import { worktreeChecks } from './worktrees.ts';

/** The checks on a world whose daemon is gone; to start one is to open its worktrees again, as a daemon does. */
function doctorOf(world: World) {
  const home = { ...homeAt(world.root, readEnvironment({}), world.checkout), repository: world.checkout };
  const client = {
    call: async () => {
      await (await world.reopen()).reconcile();
      return {} as never;
    },
  };
  const parts = { home, client, git: world.git, dataHome: world.dataHome, root: () => undefined };
  return async ({ fix = false, deep = false } = {}) => {
    const findings = await examine(worktreeChecks({ ...parts, deep }), { fix });
    return Object.fromEntries(findings.map(({ check, severity, what }) => [check, `${severity}: ${what}`]));
  };
}

const WELL = {
  worktrees: 'ok: 0 live, 0 held, 0 not made by Reef',
  intents: 'ok: no operation was interrupted',
  'ref locks': 'ok: none on refs of Reef',
  'worktree sizes': 'ok: 0 MiB',
};

/** A manager that is stopped for ever at a point, as if its daemon had been killed there. */
async function killedAt(world: World, point: Point, work: (manager: GitWorktreeManager) => Promise<unknown>) {
  let isReached = false;
  const manager = await world.reopen({
    at: (here) => {
      if (here !== point) return undefined;
      isReached = true;
      return new Promise<void>(() => {});
    },
  });
  void work(manager).catch(() => {});
  await until(`${point} is reached`, () => isReached);
}

verifies('Q-100').test('worktrees are told by class, with their size; --deep asks git for damage', async () => {
  const world = await makeWorld();
  const look = doctorOf(world);
  await world.start('live', ['1']);
  const held = await world.start('held', ['2']);
  await world.manager.hold(held.id);
  world.plain('worktree', 'add', '-q', join(world.root, 'mine'), '-b', 'mine');
  expect(await look({ deep: true })).toEqual({
    ...WELL,
    worktrees: 'ok: 1 live, 1 held, 1 not made by Reef',
    'worktree sizes': 'ok: 1 MiB',
    'git objects': 'ok: git fsck finds no damage',
  });
  const blob = world.plain('rev-parse', 'HEAD:a.txt');
  rmSync(join(world.checkout, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true });
  expect((await look({ deep: true }))['git objects']).toBe('error: git fsck finds damage');
});

verifies('Q-102', 'Q-103').test('a folder that is gone is named, and after --fix recorded as lost', async () => {
  const world = await makeWorld();
  const look = doctorOf(world);
  const work = await world.start('task');
  rmSync(work.path, { recursive: true });
  const said = `${work.id} is recorded, but its folder is gone`;
  expect((await look()).worktrees).toBe(`warn: ${said}`);
  expect((await look({ fix: true })).worktrees).toBe(`ok: ${said}: fixed`);
  expect([(await look()).worktrees, (await world.manager.view(work.id)).status]).toEqual([WELL.worktrees, 'lost']);
  expect(world.plain('branch', '--list', work.branch)).not.toBe('');
});

verifies('Q-102', 'Q-103').test(
  'a folder without a record is named and left to a person, with all that is in it',
  async () => {
    const world = await makeWorld();
    const look = doctorOf(world);
    const work = await world.start('task');
    await world.manager.discard(work.id);
    const folder = join(dirname(work.path), 'stray');
    world.plain('worktree', 'add', '-q', folder, '-b', 'stray');
    writeFileSync(join(folder, 'not committed'), 'work');
    const own = usersOwn(world.checkout);
    const said = {
      ...WELL,
      worktrees: `warn: ${folder} is left over: no record uses it`,
      'worktree sizes': 'ok: 1 MiB',
    };
    expect([await look({ fix: true }), await look({ fix: true })]).toEqual([said, said]);
    expect([existsSync(join(folder, 'not committed')), usersOwn(world.checkout)]).toEqual([true, own]);
  },
);

const POINTS: [Point, (manager: GitWorktreeManager, id: string) => Promise<unknown>][] = [
  ['create.claimed', (manager) => manager.submit({ taskId: 'new', plan: ['new'] })],
  ['create.added', (manager) => manager.submit({ taskId: 'new', plan: ['new'] })],
  ['keep.captured', (manager, id) => manager.hold(id)],
  ['remove.begun', (manager, id) => manager.discard(id)],
  ['accept.begun', (manager, id) => manager.accept(id)],
  ['accept.advanced', (manager, id) => manager.accept(id)],
];

for (const [point, work] of POINTS) {
  verifies('Q-100', 'Q-102', 'Q-103').test(
    `what a daemon killed at ${point} began is named, and settled by --fix`,
    async () => {
      const world = await makeWorld();
      const look = doctorOf(world);
      const before = await world.start('task', ['a.txt']);
      world.edit(before, 'a.txt', 'changed\n');
      const own = usersOwn(world.checkout);
      await killedAt(world, point, (manager) => work(manager, before.id));
      const [verb = ''] = point.split('.');
      const found = await look();
      expect(found.intents).toMatch(
        new RegExp(`^warn: \\w+: (${verb}|accepting) was interrupted when its daemon ended$`),
      );
      await look({ fix: true });
      const after = await look({ fix: true });
      expect([after.intents, after['ref locks']]).toEqual([WELL.intents, WELL['ref locks']]);
      if (point !== 'accept.advanced') expect(usersOwn(world.checkout)).toEqual(own);
      expect(world.plain('fsck', '--no-dangling')).toBe('');
    },
  );
}

verifies('Q-100', 'Q-103').test(
  'a lock that a killed git of ours left is named and freed; one of somebody else is only named',
  async () => {
    const world = await makeWorld();
    const look = doctorOf(world);
    const work = await world.start('task', ['a.txt']);
    await killedAt(world, 'keep.captured', (manager) => manager.hold(work.id));
    const lock = (ref: string) => join(world.checkout, '.git', `${ref}.lock`);
    const leave = (ref: string) => {
      mkdirSync(dirname(lock(ref)), { recursive: true });
      writeFileSync(lock(ref), '');
    };
    leave(`refs/reef/held/${work.id}`);
    expect((await look())['ref locks']).toBe(`warn: refs/reef/held/${work.id} is locked`);
    await look({ fix: true });
    expect((await look())['ref locks']).toBe(WELL['ref locks']);
    leave(`refs/heads/${work.branch}`);
    const said = `warn: refs/heads/${work.branch} is locked`;
    expect([(await look({ fix: true }))['ref locks'], (await look())['ref locks']]).toEqual([said, said]);
    expect(existsSync(lock(`refs/heads/${work.branch}`))).toBe(true);
  },
);
