import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { makeWorld, textOf, usersOwn, type World } from '../../test/support/worktrees/world.ts';

/** Nothing of Reef's is left but archives: no branch, no folder, no registration, no port. */
function leftovers({ plain, dataHome }: World): string[] {
  const refs = plain('for-each-ref', '--format=%(refname)', 'refs/heads/reef', 'refs/reef').split('\n');
  const worktrees = plain('worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? [];
  return [...refs.filter((ref) => ref !== '' && !ref.startsWith('refs/reef/archive/')), ...worktrees.slice(1)].filter(
    (each) => each.includes('refs/') || each.includes(dataHome),
  );
}

verifies('T-20', 'T-23', 'Q-52').test(
  'in the race of conflicting features each task merges, the second from a base that contains the first',
  async () => {
    const world = await makeWorld({ 'FeatureA.tsx': 'a\n', 'other.ts': 'o\n' });
    const { manager, plain, edit, write, checkout } = world;
    plain('checkout', '-q', '-b', 'mine');
    write('FeatureA.tsx', 'half an idea of the user\n');
    write('untracked.txt', 'mine\n');
    plain('add', 'FeatureA.tsx');
    const own = usersOwn(checkout);
    const base = 'main';
    const [a, b, c] = await Promise.all([
      manager.submit({ taskId: 'A', plan: ['FeatureA.tsx'], base }),
      manager.submit({ taskId: 'B', plan: ['FeatureA.tsx', 'FeatureB.tsx'], base }),
      manager.submit({ taskId: 'C', plan: ['other.ts'], base }),
    ]);
    expect([b.status, (await manager.scan(['FeatureA.tsx', 'FeatureB.tsx'])).status]).toEqual(['queued', 'CLASH']);
    const [inA, inC] = [await manager.whenReady(a.id), await manager.whenReady(c.id)];
    edit(inA, 'FeatureA.tsx', 'a, done\n');
    edit(inC, 'other.ts', 'o, done\n');
    await Promise.all([manager.accept(c.id), manager.accept(a.id)]);
    const inB = await manager.whenReady(b.id, AbortSignal.timeout(20_000));
    expect([textOf(inB.path ?? '', 'FeatureA.tsx'), inB.base.commit]).toEqual([
      'a, done\n',
      plain('rev-parse', 'main'),
    ]);
    edit(inB, 'FeatureB.tsx', 'b\n');
    await manager.accept(b.id);
    expect(plain('log', '--format=%s', 'main').split('\n').sort()).toEqual(['A', 'B', 'C', 'first']);
    expect([leftovers(world), usersOwn(checkout).filter((line) => !/refs\/heads\/main/.test(line))]).toEqual([
      [],
      own.filter((line) => !/refs\/heads\/main/.test(line)),
    ]);
    expect((await manager.list({ all: true })).map(({ taskId, status }) => [taskId, status])).toEqual([
      ['A', 'accepted'],
      ['B', 'accepted'],
      ['C', 'accepted'],
    ]);
  },
);

verifies('T-32', 'T-23').test(
  'with the checkout dirty on main the first pends and the second waits; after a commit there both complete',
  async () => {
    const world = await makeWorld({ 'f.txt': '1\n', 'mine.txt': 'm\n' });
    const { manager, plain, edit, write, checkout } = world;
    const a = await world.start('A', ['f.txt']);
    const { id: b } = await manager.submit({ taskId: 'B', plan: ['f.txt'] });
    edit(a, 'f.txt', 'from A\n');
    write('mine.txt', 'edited\n');
    const before = usersOwn(checkout);
    const { status } = await manager.accept(a.id, { whenClean: true });
    expect([status, (await manager.view(b)).status, usersOwn(checkout)]).toEqual(['pending', 'queued', before]);
    const restarted = await world.reopen();
    await restarted.reconcile();
    plain('commit', '-qam', 'mine');
    const inB = await restarted.whenReady(b, AbortSignal.timeout(20_000));
    expect(textOf(inB.path ?? '', 'f.txt')).toBe('from A\n');
    edit(inB, 'f.txt', 'from B\n');
    expect((await restarted.accept(b)).status).toBe('merged');
    await until('nothing is left', () => leftovers(world).length === 0);
    expect([plain('log', '--format=%s'), textOf(checkout, 'f.txt'), textOf(checkout, 'mine.txt')]).toEqual([
      'B\nA\nmine\nfirst',
      'from B\n',
      'edited\n',
    ]);
  },
);

verifies('T-22').test('a hundred submits of one task at once, through four managers, make one worktree', async () => {
  const world = await makeWorld();
  const managers = [world.manager, await world.reopen(), await world.reopen(), await world.reopen()];
  const submits = Array.from({ length: 100 }, (_, n) => managers[n % 4]?.submit({ taskId: 'one', plan: ['a.txt'] }));
  const records = await Promise.all(submits);
  const [first] = records;
  expect(new Set(records.map((record) => record?.id)).size).toBe(1);
  for (const manager of managers)
    await until('it stands', async () => (await manager.view(first?.id ?? '')).status === 'running');
  expect(world.plain('worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(2);
});

verifies('T-21').test('waiting on a held one says so, and anyway overrides', async () => {
  const world = await makeWorld();
  const { manager } = world;
  const a = await world.start('a', ['x']);
  await manager.hold(a.id);
  const { id } = await manager.submit({ taskId: 'b', plan: ['x'] });
  expect((await manager.view(id)).queue).toEqual({
    place: 1,
    waitsFor: [{ worktreeId: a.id, status: 'held', files: ['x'] }],
  });
  expect((await manager.submit({ taskId: 'c', plan: ['x'], anyway: true })).status).toBe('creating');
});

verifies('T-23').test(
  'a discarded task and a failed accept let the queue go on, and it survives a restart',
  async () => {
    const world = await makeWorld({ 'x.txt': '1\n' });
    const { manager, edit, write, commit } = world;
    const a = await world.start('a', ['x.txt']);
    const { id: b } = await manager.submit({ taskId: 'b', plan: ['x.txt'] });
    const { id: c } = await manager.submit({ taskId: 'c', plan: ['x.txt'], priority: 1 });
    edit(a, 'x.txt', 'a\n');
    write('x.txt', 'moved\n');
    const moved = commit('moved');
    await expect(manager.accept(a.id)).rejects.toMatchObject({ code: 'merge_conflict' });
    const later = await world.reopen();
    await later.reconcile();
    expect((await later.list()).map(({ taskId, status }) => [taskId, status])).toEqual([
      ['a', 'running'],
      ['b', 'queued'],
      ['c', 'queued'],
    ]);
    await later.discard(a.id);
    const inC = await later.whenReady(c, AbortSignal.timeout(20_000));
    expect([inC.base.commit, (await later.view(b)).queue]).toEqual([
      moved,
      { place: 1, waitsFor: [{ worktreeId: c, status: 'running', files: ['x.txt'] }] },
    ]);
    await later.discard(c);
    expect((await later.whenReady(b, AbortSignal.timeout(20_000))).status).toBe('running');
  },
);

const STEPS = scale('T-22', { test: 12, faults: 40, soak: 200 });

verifies('T-22').test('random interleavings on real git leave no orphan', async () => {
  const world = await makeWorld({ a: 'a\n', b: 'b\n', c: 'c\n' }, { settings: { maxActive: 3 } });
  const { manager } = world;
  const steps = fc.sample(
    fc.record({
      verb: fc.constantFrom('submit', 'accept', 'discard', 'hold', 'restore'),
      n: fc.nat(4),
      file: fc.constantFrom('a', 'b', 'c'),
    }),
    { numRuns: STEPS, seed: 4711 },
  );
  const idOf = async (n: number) =>
    (await manager.list({ all: true })).find(({ taskId }) => taskId === `t${n}`)?.id ?? 'NONE';
  const take = async ({ verb, n, file }: (typeof steps)[number]) => {
    if (verb === 'submit') return manager.submit({ taskId: `t${n}`, plan: [file] });
    const id = await idOf(n);
    return verb === 'restore' ? manager.reinflate(id) : manager[verb as 'accept' | 'discard' | 'hold'](id);
  };
  for (const n of [0, 1, 2, 3, 4]) await manager.submit({ taskId: `t${n}`, plan: ['abc'.charAt(n % 3)] });
  for (let from = 0; from < steps.length; from += 4) await Promise.allSettled(steps.slice(from, from + 4).map(take));
  for (let left = 40; left > 0; left--) {
    const open = await manager.list();
    if (open.length === 0) break;
    for (const { id, status } of open) {
      if (status === 'held' || status === 'lost') await manager.reinflate(id);
      else if (status === 'running') await manager.discard(id);
      else await manager.whenReady(id, AbortSignal.timeout(1_000)).catch(() => undefined);
    }
  }
  const report = await manager.reconcile();
  const folder = dirname((await world.start('last', ['z'])).path);
  expect([{ ...report, held: [] }, (await manager.list()).length, existsSync(join(folder, '.trash', 'x'))]).toEqual([
    { live: [], held: [], zombies: [], ghosts: [], foreign: [], recovered: [] },
    1,
    false,
  ]);
  expect(world.plain('fsck', '--no-dangling')).toBe('');
});
