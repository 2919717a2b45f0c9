import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRepository, userPicture } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { codeOf, makeWorld, usersOwn } from '../../test/support/worktrees/world.ts';
import { createGit } from '../git/git-command.ts';
import { run } from '../process/run.ts';
import { worktreeOperations } from '../protocol/worktree-operations.ts';

verifies('T-01', 'T-02', 'Q-52').test(
  'a worktree is made outside the checkout, locked, on a branch of its own',
  async () => {
    const world = await makeWorld({ 'a.txt': 'one\n' });
    const { manager, checkout, plain, dataHome } = world;
    world.write('dirty.txt', 'mine');
    const before = userPicture(checkout);
    const record = await world.start('Fix the bug!', ['a.txt', './src//b.ts']);
    const id8 = record.id.slice(-8).toLowerCase();
    expect(record).toEqual({
      id: record.id,
      taskId: 'Fix the bug!',
      path: join(dataHome, 'reef', record.path.split('/').at(-2) ?? '', record.id),
      branch: `reef/fix-the-bug-${id8}/tip`,
      base: { branch: 'main', commit: plain('rev-parse', 'HEAD') },
      changePlan: [
        { path: 'a.txt', origin: 'declared' },
        { path: 'src/b.ts', origin: 'declared' },
      ],
      portBase: record.portBase,
      status: 'running',
    });
    expect(record.path.split('/').at(-2)).toMatch(/^repo-[0-9a-f]{8}$/);
    expect(record.portBase % 10).toBe(0);
    expect([readFileSync(join(record.path, 'a.txt'), 'utf8'), existsSync(join(record.path, 'dirty.txt'))]).toEqual([
      'one\n',
      false,
    ]);
    expect(plain('worktree', 'list', '--porcelain')).toContain(`worktree ${record.path}`);
    expect(plain('worktree', 'list', '--porcelain')).toContain(`locked reef ${record.id}`);
    expect(statSync(join(record.path, '..')).mode & 0o777).toBe(0o700);
    expect(usersOwn(checkout)).toEqual(before);
    expect(await manager.view(record.id)).toMatchObject({ health: 'GREEN', queue: null, overlap: [] });
  },
);

verifies('T-02').test('what is not fit for worktrees is refused before any change', async () => {
  const world = await makeWorld();
  const before = userPicture(world.checkout);
  const low = await world.reopen({ freeBytes: async () => 2 ** 30 - 1 });
  expect(await codeOf(low.submit({ taskId: 'low', plan: [] }))).toBe('disk_low');
  const empty = makeRepository();
  empty.plain('checkout', '-q', '--orphan', 'new');
  const inEmpty = await world.reopen({ git: empty.git, repository: empty.checkout });
  expect(await codeOf(inEmpty.submit({ taskId: 'empty', plan: [] }))).toBe('repo_empty');
  const old = createGit({
    env: world.env,
    run: async (spec) =>
      spec.args[0] === '--version'
        ? {
            code: 0,
            signal: null,
            stdout: Buffer.from('git version 2.37.9'),
            stderr: Buffer.of(),
            timedOut: false,
            truncated: false,
          }
        : run(spec),
  });
  expect(await codeOf(world.reopen({ git: old }))).toBe('git_too_old');
  world.plain('clone', '-q', '--bare', '.', '../bare.git');
  expect(await codeOf(world.reopen({ repository: join(world.root, 'bare.git') }))).toBe('repo_bare');
  expect(await codeOf(world.reopen({ configured: () => ({ root: join(world.checkout, 'below') }) }))).toBe(
    'config_invalid',
  );
  expect(userPicture(world.checkout)).toEqual(before);
  expect(await (await world.reopen()).list({ all: true })).toEqual([]);
});

verifies('T-16').test(
  'a diff shows committed and uncommitted work against the target, and what was not planned',
  async () => {
    const world = await makeWorld({ 'a.txt': '1\n2\n3\n', 'gone.txt': 'g\n' });
    const { manager, edit, gitIn, write, commit } = world;
    const work = await world.start('task', ['a.txt', 'never.txt']);
    edit(work, 'a.txt', '1\ntwo\n3\n');
    gitIn(work.path, 'commit', '-qam', 'agent');
    gitIn(work.path, 'rm', '-q', 'gone.txt');
    edit(work, 'new.txt', 'n\n');
    write('elsewhere.txt', 'x\n');
    commit('the target moves');
    const { base, files, patch, truncated, drift } = await manager.diff('@last');
    expect({ base, files, truncated, drift }).toEqual({
      base: work.base.commit,
      files: [
        { status: 'M', path: 'a.txt' },
        { status: 'D', path: 'gone.txt' },
        { status: 'A', path: 'new.txt' },
      ],
      truncated: false,
      drift: { unplanned: ['gone.txt', 'new.txt'], untouched: ['never.txt'] },
    });
    expect(patch).toContain('-2\n+two\n');
    expect(gitIn(work.path, 'status', '--porcelain')).toBe('D  gone.txt\n?? new.txt');
  },
);

test('what is returned fits the protocol, and an id may be shortened', async () => {
  const world = await makeWorld();
  const { manager } = world;
  const work = await world.start('task', ['a.txt'], { priority: 2 });
  await manager.submit({ taskId: 'waits', plan: ['a.txt'] });
  const views = await manager.list();
  expect(worktreeOperations.worktrees.output.parse({ worktrees: views })).toEqual({ worktrees: views });
  const diff = await manager.diff(work.id.slice(0, -1).toLowerCase());
  expect(worktreeOperations.diff.output.parse(diff)).toEqual(diff);
  const report = await manager.scan(['a.txt']);
  const worktrees = await manager.conflicts();
  expect(worktreeOperations.conflicts.output.parse({ report, worktrees })).toEqual({ report, worktrees });
  expect(await codeOf(manager.view('nobody'))).toBe('worktree_not_found');
});

test('a creation that fails is taken back, says why, and can be made again', async () => {
  let free = 1e12;
  const world = await makeWorld(undefined, { freeBytes: async () => free });
  const { manager, plain } = world;
  const a = await world.start('a', ['x']);
  const { id } = await manager.submit({ taskId: 'b', plan: ['x'] });
  free = 1;
  await manager.discard(a.id);
  await expect(manager.whenReady(id)).rejects.toMatchObject({ code: 'worktree_lost' });
  expect([await manager.view(id), plain('branch', '--list', 'reef/*'), world.notices.at(-1)]).toMatchObject([
    { status: 'lost', path: null, portBase: 0, failure: { code: 'disk_low' } },
    '',
    { kind: 'lost', worktreeId: id },
  ]);
  free = 1e12;
  expect((await manager.restore(id)).status).toBe('running');
});
