import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { codeOf, makeWorld, textOf, usersOwn } from '../../../test/support/worktrees/world.ts';
import { identify } from '../../process/identity.ts';
import { Store } from '../../store/store.ts';
import type { StoredWorktree } from '../records.ts';

verifies('T-40', 'T-41', 'Q-52').test(
  'live, held, zombie, ghost and foreign are told apart, and no work is deleted',
  async () => {
    const world = await makeWorld({ 'a.txt': 'a\n' });
    const { plain, root, checkout } = world;
    const [live, held, ghost, zombie] = [
      await world.start('live', ['1']),
      await world.start('held', ['2']),
      await world.start('ghost', ['3']),
      await world.start('zombie', ['4']),
    ];
    world.edit(held, 'a.txt', 'held\n');
    await world.manager.hold(held.id);
    world.edit(ghost, 'b.txt', 'ghost\n');
    await world.manager.scan([]);
    rmSync(ghost.path, { recursive: true });
    const unknown = join(zombie.path, '..', 'UNKNOWN');
    renameSync(zombie.path, `${zombie.path}-moved`);
    mkdirSync(unknown);
    writeFileSync(join(unknown, 'precious'), 'x');
    plain('worktree', 'add', '-q', join(root, 'theirs'), '-b', 'theirs');
    writeFileSync(join(root, 'theirs', 'mine'), 'x');
    const own = usersOwn(checkout);
    const manager = await world.reopen();
    expect(await manager.reconcile()).toEqual({
      live: [live.id],
      held: [held.id],
      ghosts: [ghost.id, zombie.id],
      zombies: [
        { path: `${zombie.path}-moved`, worktreeId: null, why: 'no record uses it' },
        { path: unknown, worktreeId: null, why: 'no record uses it' },
      ].sort((a, b) => (a.path < b.path ? -1 : 1)),
      foreign: [join(root, 'theirs')],
      recovered: [],
    });
    expect([textOf(unknown, 'precious'), textOf(root, 'theirs', 'mine'), usersOwn(checkout)]).toEqual(['x', 'x', own]);
    expect((await manager.list()).map(({ taskId, status }) => [taskId, status])).toEqual([
      ['live', 'running'],
      ['held', 'held'],
      ['ghost', 'lost'],
      ['zombie', 'lost'],
    ]);
    expect(plain('rev-parse', '--verify', ghost.branch)).toBe(ghost.base.commit);
    const again = await manager.restore(ghost.id);
    expect([again.status, textOf(again.path ?? '', 'b.txt')]).toEqual(['running', 'ghost\n']);
    expect(await codeOf(manager.restore(live.id))).toBe('worktree_state');
  },
);

verifies('T-41').test('a look that fails writes nothing', async () => {
  const world = await makeWorld();
  const work = await world.start('task');
  rmSync(work.path, { recursive: true });
  renameSync(join(world.checkout, '.git', 'HEAD'), join(world.checkout, '.git', 'HEAD.away'));
  const failed = await codeOf(world.manager.reconcile());
  renameSync(join(world.checkout, '.git', 'HEAD.away'), join(world.checkout, '.git', 'HEAD'));
  const [view] = await world.manager.list();
  expect([failed === 'done', view?.status]).toEqual([false, 'running']);
});

verifies('T-04').test('health is clean, uncommitted or corrupt, apart from overlap and queue', async () => {
  const world = await makeWorld();
  const { manager } = world;
  const [one, two, three] = [
    await world.start('one', ['x']),
    await world.start('two', ['y']),
    await world.start('three', ['z']),
  ];
  const { id: waiting } = await manager.submit({ taskId: 'four', plan: ['z'] });
  world.edit(two, 'a.txt', 'changed\n');
  writeFileSync(join(three.path, '.git'), 'gitdir: /nowhere\n');
  const views = await Promise.all([one.id, two.id, three.id, waiting].map((id) => manager.view(id)));
  expect(views.map(({ health, queue }) => ({ health, queue }))).toEqual([
    { health: 'GREEN', queue: null },
    { health: 'AMBER', queue: null },
    { health: 'RED', queue: null },
    { health: null, queue: { place: 1, waitsFor: [{ worktreeId: three.id, status: 'running', files: ['z'] }] } },
  ]);
  const { complete, clashes } = await manager.scan(['q']);
  expect([complete, clashes.find(({ worktreeId }) => worktreeId === three.id)?.tier]).toEqual([false, 'unknown']);
});

verifies('Q-51').test('a lock that a killed git left on our branch goes; a foreign one stays', async () => {
  const world = await makeWorld();
  const { place, plain } = world;
  let seen = '';
  const frozen = new Promise<void>(() => {});
  const first = await world.reopen({
    at: (point) => {
      if (point === 'create.claimed') seen = point;
      return point === 'create.claimed' ? frozen : undefined;
    },
  });
  const { id, branch } = await first.submit({ taskId: 'task', plan: [] });
  await until('the branch is claimed', () => seen !== '');
  const lock = join(place.commonDir, 'refs/heads', `${branch}.lock`);
  const foreign = join(place.commonDir, 'refs/heads', 'foreign.lock');
  mkdirSync(join(lock, '..'), { recursive: true });
  for (const file of [lock, foreign]) writeFileSync(file, '');
  utimesSync(lock, 1, 1);
  const { recovered } = await (await world.reopen()).reconcile();
  expect([recovered, existsSync(lock), existsSync(foreign), plain('rev-parse', branch)]).toEqual([
    [`${id}: its creation was completed`],
    false,
    true,
    plain('rev-parse', 'main'),
  ]);
  rmSync(foreign);
});

verifies('T-43').test('a half-made folder is completed, unless somebody put a file there', async () => {
  const world = await makeWorld({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' });
  const stop = async (taskId: string) => {
    let isThere = false;
    const manager = await world.reopen({
      at: (point) => {
        isThere ||= point === 'create.added';
        return point === 'create.added' ? new Promise<void>(() => {}) : undefined;
      },
    });
    const { id } = await manager.submit({ taskId, plan: [taskId] });
    await until('the folder is added', () => isThere);
    return id;
  };
  const [half, strange] = [await stop('half'), await stop('strange')];
  await world.reopen();
  const folder = join((await world.manager.view(half)).path ?? '', '..');
  rmSync(join(folder, half, 'b'), { recursive: true });
  rmSync(join(world.place.commonDir, 'worktrees', half, 'index'));
  writeFileSync(join(world.place.commonDir, 'worktrees', half, 'index.lock'), '');
  writeFileSync(join(folder, strange, 'mine'), 'x');
  rmSync(join(folder, strange, 'a.txt'));
  const report = await world.manager.reconcile();
  expect(report.recovered).toEqual([
    `${half}: its creation was completed`,
    `${strange}: its creation could not be completed; it is lost`,
  ]);
  expect([textOf(folder, half, 'b/c.txt'), world.gitIn(join(folder, half), 'status', '--porcelain')]).toEqual([
    'c\n',
    '',
  ]);
  expect([textOf(folder, strange, 'mine'), report.zombies]).toEqual([
    'x',
    [{ path: join(folder, strange), worktreeId: strange, why: 'no record uses it' }],
  ]);
});

verifies('T-43').test('an entry of git that a crash left half written is mended', async () => {
  const world = await makeWorld();
  let isThere = false;
  const first = await world.reopen({
    at: (point) => {
      isThere ||= point === 'create.added';
      return point === 'create.added' ? new Promise<void>(() => {}) : undefined;
    },
  });
  const { id } = await first.submit({ taskId: 'task', plan: [] });
  await until('it is stopped', () => isThere);
  writeFileSync(join(world.place.commonDir, 'worktrees', id, 'commondir'), '');
  expect(() => world.plain('worktree', 'list')).toThrow('failed to read');
  const manager = await world.reopen();
  expect([(await manager.reconcile()).recovered, (await manager.view(id)).health]).toEqual([
    [`${id}: its creation was completed`],
    'GREEN',
  ]);
});

verifies('T-42').test('work of a living process is left alone; pid without start time is nobody', async () => {
  const world = await makeWorld();
  let isThere = false;
  const first = await world.reopen({
    at: (point) => {
      isThere ||= point === 'create.claimed';
      return point === 'create.claimed' ? new Promise<void>(() => {}) : undefined;
    },
  });
  const { id } = await first.submit({ taskId: 'task', plan: [] });
  await until('it is stopped', () => isThere);
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const living = identify(child.pid ?? 0);
  const store = new Store(join(world.root, 'reef.db'));
  onTestFinished(() => store.close());
  const claim = (by: unknown) =>
    store.commit(() => {
      const doc = store.worktrees.get<StoredWorktree>(world.place.commonDir, id);
      store.worktrees.update(
        { id, status: 'creating', isOpen: true, doc: { ...doc, intent: { ...doc?.intent, by } } },
        'creating',
      );
    });
  const manager = await world.reopen();
  claim(living);
  const alive = await manager.reconcile();
  claim({ ...living, startTime: '1' });
  const reused = await manager.reconcile();
  expect([alive.recovered, reused.recovered]).toEqual([[], [`${id}: its creation was completed`]]);
});

for (const [point, said] of [
  ['accept.advanced', 'its merge had arrived in main and was completed'],
  ['accept.ended', 'removed what was left of it'],
] as const) {
  verifies('T-33', 'T-43').test(
    `a merge killed at ${point} waits for what its daemon left at work in the folder before it is removed`,
    async () => {
      const world = await makeWorld();
      const begun = Promise.withResolvers<void>();
      const dying = await world.reopen({
        at: (reached) => {
          if (reached !== point) return undefined;
          begun.resolve();
          return new Promise<void>(() => {});
        },
      });
      const work = await world.start('task');
      world.edit(work, 'b.txt', 'done\n');
      void dying.accept(work.id, {}).catch(() => {});
      await begun.promise;
      const left = spawn('sleep', ['2'], { cwd: work.path, stdio: 'ignore' });
      onTestFinished(() => void left.kill('SIGKILL'));
      await once(left, 'spawn');
      const { recovered, zombies } = await (await world.reopen({ lockWaitMs: 20_000 })).reconcile();
      expect([recovered, zombies, existsSync(work.path), world.plain('branch', '--list', work.branch)]).toEqual([
        [`${work.id}: ${said}`],
        [],
        false,
        '',
      ]);
    },
  );
}
