import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { makeWorld, usersOwn } from '../../../test/support/worktrees/world.ts';
import type { ReferenceSource } from '../deps.ts';

const lines = (n: number) => Array.from({ length: n }, (_, index) => `${index + 1}\n`).join('');
const files = {
  'hot.txt': lines(20),
  'soft.txt': lines(20),
  'same.txt': lines(20),
  'old.txt': lines(20),
  'alone.txt': 'x\n',
};
const replaced = (n: number, line: number, text: string) => lines(n).replace(`\n${line}\n`, `\n${text}\n`);
const none: ReferenceSource = { related: async () => ({ complete: true, files: [] }) };

verifies('T-12', 'T-13', 'T-15', 'Q-52').test('every clash is named, by its tier, with files and lines', async () => {
  const world = await makeWorld(files, { references: none });
  const { manager, edit, gitIn, checkout, notices } = world;
  const [a, b, c] = [await world.start('a', ['x']), await world.start('b', ['y']), await world.start('c', ['z'])];
  edit(a, 'hot.txt', replaced(20, 10, 'from a'));
  edit(b, 'hot.txt', replaced(20, 10, 'from b'));
  edit(a, 'soft.txt', replaced(20, 3, 'from a'));
  edit(b, 'soft.txt', replaced(20, 17, 'from b'));
  for (const work of [a, b]) edit(work, 'same.txt', replaced(20, 5, 'the same'));
  gitIn(a.path, 'commit', '-qam', 'agent');
  gitIn(c.path, 'mv', 'old.txt', 'new.txt');
  edit(b, 'old.txt', replaced(20, 2, 'from b'));
  world.write('soft.txt', 'the user edits this');
  const own = usersOwn(checkout);
  const report = await manager.addToChangePlan(['alone.txt'], b.id);
  expect(report).toEqual({
    status: 'CLASH',
    complete: true,
    clashes: [
      { worktreeId: a.id, tier: 'hot', files: [{ path: 'hot.txt', lines: [[10, 10]] }] },
      { worktreeId: a.id, tier: 'soft', files: [{ path: 'same.txt' }, { path: 'soft.txt' }] },
      { worktreeId: c.id, tier: 'soft', files: [{ path: 'old.txt' }] },
      { worktreeId: checkout, tier: 'soft', files: [{ path: 'soft.txt' }] },
    ],
  });
  expect(usersOwn(checkout)).toEqual(own);
  expect(await manager.scan(['new.txt', 'hot.*', 'nobody.txt'])).toMatchObject({
    status: 'CLASH',
    clashes: [
      { worktreeId: a.id, tier: 'soft', files: [{ path: 'hot.txt' }] },
      { worktreeId: b.id, tier: 'soft', files: [{ path: 'hot.txt' }] },
      { worktreeId: c.id, tier: 'soft', files: [{ path: 'new.txt' }] },
    ],
  });
  expect(await manager.scan(['nobody.txt'])).toEqual({ status: 'CLEAR', complete: true, clashes: [] });
  expect(notices).toEqual([{ kind: 'hot_clash', worktrees: [a.id, b.id], files: ['hot.txt'] }]);
  await (await world.reopen()).conflicts();
  expect(notices.length).toBe(1);
});

verifies('T-12').test('looks at the same time tell of a collision once', async () => {
  const world = await makeWorld(files, { references: none });
  const { manager, edit, notices } = world;
  const [a, b] = [await world.start('a'), await world.start('b')];
  for (const work of [a, b]) edit(work, 'hot.txt', replaced(20, 10, `from ${work.id}`));
  await Promise.all([manager.conflicts(), manager.conflicts(), manager.scan(['hot.txt'])]);
  expect(notices).toEqual([{ kind: 'hot_clash', worktrees: [a.id, b.id], files: ['hot.txt'] }]);
});

verifies('T-33').test('a look at a worktree that is merged meanwhile leaves no ref of it', async () => {
  const world = await makeWorld(files, { references: none });
  const { git, plain } = world;
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const gated: typeof git = {
    ...git,
    async call(place, args, options) {
      if (!options?.input?.toString().startsWith('update refs/reef/captures/')) return git.call(place, args, options);
      reached.resolve();
      await opened.promise;
      return git.call(world.place, args, options); // as one that was at it before the folder went
    },
  };
  const manager = await world.reopen({ git: gated });
  const work = await world.start('a');
  world.edit(work, 'hot.txt', 'from a\n');
  const looking = manager.scan([]);
  await reached.promise;
  await manager.accept(work.id);
  opened.resolve();
  await looking;
  expect(plain('for-each-ref', '--format=%(refname)', 'refs/reef')).toBe(`refs/reef/archive/${work.id}`);
});

verifies('T-12').test('what git cannot merge is hot though no lines meet', async () => {
  const world = await makeWorld(files, { references: none });
  const { manager, edit } = world;
  const [a, b] = [await world.start('a'), await world.start('b')];
  rmSync(join(a.path, 'alone.txt'));
  edit(b, 'alone.txt', 'x\ny\n');
  edit(a, 'both-new.txt', 'a\n');
  edit(b, 'both-new.txt', 'b\n');
  const [first] = await manager.conflicts();
  expect(
    first?.clashes.filter(({ tier }) => tier === 'hot').map((clash) => clash.files.map(({ path }) => path)),
  ).toEqual([['alone.txt', 'both-new.txt']]);
});

verifies('T-14').test(
  'a reference between files is a hop; without a whole index it is unknown, never clear',
  async () => {
    let complete = true;
    const references: ReferenceSource = {
      related: async (_id, from, hops) => ({
        complete,
        files: from.includes('a.ts')
          ? [
              { path: 'near.ts', hops: 2 },
              { path: 'far.ts', hops: hops + 1 },
            ]
          : [],
      }),
    };
    const world = await makeWorld(files, { references });
    const [a, near, far] = [
      await world.start('a', ['a.ts']),
      await world.start('n', ['near.ts']),
      await world.start('f', ['far.ts']),
    ];
    const whole = await world.manager.addToChangePlan([], a.id);
    complete = false;
    const part = await world.manager.addToChangePlan([], a.id);
    const without = await (await world.reopen({ references: undefined as never })).scan(['q']);
    expect([whole, part.complete, part.clashes.map(({ worktreeId, tier }) => [worktreeId, tier])]).toEqual([
      {
        status: 'CLASH',
        complete: true,
        clashes: [{ worktreeId: near.id, tier: 'hop', files: [{ path: 'near.ts' }] }],
      },
      false,
      [
        [near.id, 'hop'],
        [far.id, 'unknown'],
      ],
    ]);
    expect([without.status, without.complete, without.clashes.map(({ tier }) => tier), without.problems]).toEqual([
      'CLEAR',
      false,
      ['unknown', 'unknown', 'unknown'],
      ['there is no index of references'],
    ]);
  },
);

verifies('T-15').test('a scan that fails for one worktree changes nothing of it and says so', async () => {
  const world = await makeWorld(files, { references: none });
  const { manager, edit, place } = world;
  const [a, b] = [await world.start('a', ['hot.txt']), await world.start('b', ['b.txt'])];
  edit(a, 'unplanned.txt', 'x');
  writeFileSync(join(place.commonDir, 'worktrees', a.id, 'MERGE_HEAD'), `${a.base.commit}\n`);
  const report = await manager.scan(['q']);
  expect([report.complete, report.clashes, report.problems?.length]).toEqual([
    false,
    [{ worktreeId: a.id, tier: 'unknown', files: [] }],
    1,
  ]);
  expect((await manager.view(a.id)).changePlan).toEqual([{ path: 'hot.txt', origin: 'declared' }]);
  expect((await manager.view(b.id)).status).toBe('running');
});

verifies('T-16', 'T-11', 'T-10').test(
  'unplanned files join the plan as observed, and plans are kept through hold and restart',
  async () => {
    const world = await makeWorld(files, { references: none });
    const { manager, edit } = world;
    const a = await world.start('a', ['hot.txt']);
    edit(a, 'soft.txt', 'changed\n');
    const report = await manager.addToChangePlan(['./later.txt', '../escape', 'hot.txt'], a.id);
    expect(report).toMatchObject({ status: 'CLEAR', refused: [{ path: '../escape', why: 'contains ".."' }] });
    const plan = [
      { path: 'hot.txt', origin: 'declared' },
      { path: 'later.txt', origin: 'discovered' },
      { path: 'soft.txt', origin: 'observed' },
    ];
    expect(await manager.view(a.id)).toMatchObject({
      changePlan: plan,
      drift: { unplanned: ['soft.txt'], untouched: ['hot.txt', 'later.txt'] },
    });
    const { id: waiting } = await manager.submit({ taskId: 'b', plan: ['soft.txt'] });
    await manager.hold(a.id);
    const later = await world.reopen();
    expect([(await later.view(a.id)).changePlan, (await later.view(waiting)).queue]).toEqual([
      plan,
      { place: 1, waitsFor: [{ worktreeId: a.id, status: 'held', files: ['soft.txt'] }] },
    ]);
    expect((await later.scan(['soft.txt'])).clashes.map(({ worktreeId, tier }) => [worktreeId, tier])).toEqual([
      [a.id, 'soft'],
      [waiting, 'soft'],
    ]);
  },
);

verifies('T-11').test(
  'a worktree is looked at no more than every two seconds, and the last change is seen',
  async () => {
    const clock = manualClock();
    const world = await makeWorld(files, { references: none, clock, settings: { leastMs: 2_000 } });
    const { manager, edit } = world;
    const a = await world.start('a', ['hot.txt']);
    edit(a, 'one.txt', '1');
    await manager.scan([]);
    edit(a, 'two.txt', '2');
    await manager.scan([]);
    const observed = async () =>
      (await manager.view(a.id)).changePlan.filter(({ origin }) => origin === 'observed').map(({ path }) => path);
    expect(await observed()).toEqual(['one.txt']);
    manager.touched();
    manager.touched();
    await until('the rescan waits', () => clock.sleeping() === 1);
    await clock.advance(2_000);
    await until('the change is seen', async () => (await observed()).length === 2);
    expect(await observed()).toEqual(['one.txt', 'two.txt']);
  },
);

verifies('T-11').test('a second look without a change starts few processes', async () => {
  let calls = 0;
  const world = await makeWorld(files, { references: none });
  const { git } = world;
  const counting = {
    ...git,
    call: (...args: Parameters<typeof git.call>) => {
      calls++;
      return git.call(...args);
    },
  };
  const manager = await world.reopen({ git: counting });
  const all = [await world.start('a', ['1']), await world.start('b', ['2']), await world.start('c', ['3'])];
  for (const [n, work] of all.entries()) world.edit(work, 'hot.txt', replaced(20, 3 + n, 'x'));
  const count = async () => {
    calls = 0;
    await manager.conflicts();
    return calls;
  };
  const [first, second] = [await count(), await count()];
  expect(second / first).toBeLessThanOrEqual(0.4);
});
