import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addWorktree } from '../../test/support/git/add-worktree.ts';
import { makeRepository, userPicture } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { findRefLock, listRefs, removeRefLock, setRef } from './refs.ts';
import { listWorktrees, pruneWorktree, removeCleanWorktree, removeWorktree } from './worktree.ts';

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof ReefError ? error.code : error),
  );

function makeOne(files?: Record<string, string>) {
  const repository = makeRepository(files);
  const commit = repository.plain('rev-parse', 'HEAD');
  const path = join(repository.root, 'worktrees', 'one');
  const add = () =>
    addWorktree(repository.git, repository.place, {
      path,
      branch: 'reef/one-12345678/tip',
      commit,
      reason: 'reef\njob',
    });
  return { ...repository, commit, path, add };
}

test('a worktree is added locked on a branch of its own, and the list names it', async () => {
  const { git, place, checkout, plain, path, add } = makeOne();
  const worktree = await add();
  expect(worktree).toEqual({
    toplevel: path,
    gitDir: join(place.commonDir, 'worktrees', 'one'),
    commonDir: place.commonDir,
  });
  expect(await listWorktrees(git, place)).toEqual([
    { path: checkout, branch: 'refs/heads/main', isBare: false },
    { path, branch: 'refs/heads/reef/one-12345678/tip', isBare: false },
  ]);
  expect(plain('worktree', 'list', '--porcelain')).toContain('\nlocked reef job');
});

test('the branch of a worktree follows no other, whatever the configuration says', async () => {
  const { add, plain, path } = makeOne();
  plain('config', 'branch.autoSetupMerge', 'always');
  plain('config', 'worktree.guessRemote', 'true');
  await add();
  expect([plain('config', '--get-regexp', '^branch\\.'), existsSync(join(path, 'a.txt'))]).toEqual([
    'branch.autosetupmerge always',
    true,
  ]);
});

test('a worktree with work in it is not removed, one with ignored files only is', async () => {
  const { git, place, path, add } = makeOne({ 'a.txt': 'one\n', '.gitignore': '*.log\n' });
  const worktree = await add();
  writeFileSync(join(path, 'x.log'), 'ignored');
  writeFileSync(join(path, 'new'), 'untracked');
  rmSync(join(path, 'a.txt'));
  const first = await removeCleanWorktree(git, place, worktree);
  writeFileSync(join(path, 'a.txt'), 'one\n');
  rmSync(join(path, 'new'));
  const second = await removeCleanWorktree(git, place, worktree);
  expect([first, second, existsSync(path)]).toEqual([
    { removed: false, dirty: ['a.txt', 'new'] },
    { removed: true },
    false,
  ]);
});

test('a worktree with submodules can be removed too', async () => {
  const { git, place, add, plain, checkout, commit } = makeOne();
  plain('update-index', '--add', '--cacheinfo', `160000,${commit},sub`);
  plain('commit', '-q', '-m', 'a submodule');
  mkdirSync(join(checkout, 'sub'));
  const worktree = await add();
  expect(await removeCleanWorktree(git, place, worktree)).toEqual({ removed: true });
});

test('a worktree is removed with all its work when that is asked for', async () => {
  const { git, place, path, add } = makeOne();
  await add();
  writeFileSync(join(path, 'new'), 'untracked');
  await removeWorktree(git, place, path);
  expect([existsSync(path), (await listWorktrees(git, place)).length]).toEqual([false, 1]);
});

test('only the worktree named is forgotten, and only when its folder is gone', async () => {
  const { git, place, path, add, plain, root } = makeOne();
  await add();
  const other = join(root, 'other');
  plain('worktree', 'add', '-q', '--detach', other);
  rmSync(other, { recursive: true });
  const early = await codeOf(pruneWorktree(git, place, path));
  rmSync(path, { recursive: true });
  await pruneWorktree(git, place, path);
  const paths = (await listWorktrees(git, place)).map((entry) => [entry.path, entry.prunable !== undefined]);
  expect([early, paths]).toEqual([
    'bad_request',
    [
      [place.toplevel, false],
      [other, true],
    ],
  ]);
});

verifies('X-110').test('a value that looks like an option is refused wherever a name is taken', async () => {
  const { git, root, checkout, place, commit, path } = makeOne();
  const bad = `--output=${join(root, 'canary')}`;
  const before = userPicture(checkout);
  const attempts = [
    addWorktree(git, place, { path: bad, branch: 'x', commit, reason: '' }),
    addWorktree(git, place, { path, branch: bad, commit, reason: '' }),
    addWorktree(git, place, { path, branch: 'x', commit: bad, reason: '' }),
    removeWorktree(git, place, bad),
    pruneWorktree(git, place, bad),
    setRef(git, place, { ref: bad, to: commit, from: null }),
    setRef(git, place, { ref: 'refs/heads/x', to: bad, from: null }),
    setRef(git, place, { ref: 'refs/heads/x', to: commit, from: bad }),
    listRefs(git, place, bad),
    findRefLock(place, bad),
  ];
  expect(new Set(await Promise.all(attempts.map(codeOf)))).toEqual(new Set(['ref_invalid']));
  expect([existsSync(join(root, 'canary')), userPicture(checkout)]).toEqual([false, before]);
});

test('a ref moves only from where it was seen', async () => {
  const { git, place, plain, commit } = makeOne();
  const next = plain('commit-tree', '-m', 'x', `${commit}^{tree}`);
  const ref = 'refs/reef/held/1';
  const moves = [
    await setRef(git, place, { ref, to: commit, from: null }),
    await setRef(git, place, { ref, to: next, from: null }),
    await setRef(git, place, { ref, to: next, from: next }),
    await setRef(git, place, { ref, to: next, from: commit }),
    await setRef(git, place, { ref, to: commit, from: commit }),
  ];
  expect([moves, await listRefs(git, place, 'refs/reef')]).toEqual([
    [true, false, false, true, false],
    [{ ref, oid: next }],
  ]);
  expect([
    await setRef(git, place, { ref, to: null, from: commit }),
    await setRef(git, place, { ref, to: null, from: next }),
    await setRef(git, place, { ref, to: null, from: null }),
    await listRefs(git, place, 'refs/reef'),
  ]).toEqual([false, true, true, []]);
});

test('of many who move a ref at once one succeeds', async () => {
  const { git, place, plain, commit } = makeOne();
  const commits = Array.from({ length: 6 }, (_, at) => plain('commit-tree', '-m', `${at}`, `${commit}^{tree}`));
  const ref = 'refs/reef/checkpoints/r/1';
  const moved = await Promise.all(commits.map((to) => setRef(git, place, { ref, to, from: null })));
  expect(moved.filter(Boolean)).toEqual([true]);
});

verifies('Q-51').test('a foreign lock on a ref is waited for, then git_locked, and stays', async () => {
  const { git, place, add, path, commit } = makeOne();
  const ref = 'refs/heads/reef/one-12345678/tip';
  mkdirSync(join(place.commonDir, 'refs/heads/reef/one-12345678'), { recursive: true });
  writeFileSync(join(place.commonDir, `${ref}.lock`), '');
  const error = await add().catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'git_locked', details: { lock: join(place.commonDir, `${ref}.lock`) } });
  expect([await findRefLock(place, ref), existsSync(path)]).toEqual([
    { path: join(place.commonDir, `${ref}.lock`), identity: expect.any(String) },
    false,
  ]);
  expect(await codeOf(setRef(git, place, { ref, to: commit, from: null }))).toBe('git_locked');
});

verifies('Q-51').test('only the very lock that was found is removed, and then the next add succeeds', async () => {
  const { place, add } = makeOne();
  const ref = 'refs/heads/reef/one-12345678/tip';
  const lock = join(place.commonDir, `${ref}.lock`);
  mkdirSync(join(lock, '..'), { recursive: true });
  const absent = await findRefLock(place, ref);
  writeFileSync(lock, '');
  const found = await findRefLock(place, ref);
  if (!found) throw new Error('the lock was not found');
  rmSync(lock);
  symlinkSync('/nowhere', lock);
  const another = await removeRefLock(place, ref, found);
  const last = await findRefLock(place, ref);
  const own = last && (await removeRefLock(place, ref, last));
  const twice = last && (await removeRefLock(place, ref, last));
  expect([absent, another, own, twice]).toEqual([undefined, false, true, false]);
  expect((await add()).commonDir).toBe(place.commonDir);
});
