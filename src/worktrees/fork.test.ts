import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { makeWorld, textOf } from '../../test/support/worktrees/world.ts';
import { systemClock } from '../base/clock.ts';
import { createRunCaptures } from './run-captures.ts';

const lines = (n: number) => Array.from({ length: n }, (_, index) => `${index + 1}\n`).join('');

test('branches of a fork begin with the files of their parent and are joined into them, index and branch apart', async () => {
  const world = await makeWorld({ 'a.txt': lines(20) }, { settings: { maxActive: 1 } });
  const { manager, edit, gitIn } = world;
  const parent = await world.start('run');
  edit(parent, 'fresh.txt', lines(20));
  edit(parent, 'staged.txt', 's\n');
  gitIn(parent.path, 'add', 'staged.txt');
  const [one, two] = [await manager.branchOff('fork/1', parent), await manager.branchOff('fork/2', parent)];
  expect(await manager.branchOff('fork/1', parent)).toEqual(one);
  edit(one, 'fresh.txt', lines(20).replace('\n3\n', '\nthree\n'));
  edit(two, 'fresh.txt', lines(20).replace('\n17\n', '\nseventeen\n'));
  edit(two, 'a.txt', 'rewritten\n');
  const before = gitIn(parent.path, 'diff', '--cached');
  expect([await manager.mergeBack(one, parent), await manager.mergeBack(two, parent)]).toEqual([
    { conflicts: [] },
    { conflicts: [] },
  ]);
  expect(await manager.mergeBack(two, parent)).toEqual({ conflicts: [] });
  expect([textOf(parent.path, 'fresh.txt'), textOf(parent.path, 'a.txt')]).toEqual([
    lines(20).replace('\n3\n', '\nthree\n').replace('\n17\n', '\nseventeen\n'),
    'rewritten\n',
  ]);
  expect([gitIn(parent.path, 'diff', '--cached'), gitIn(parent.path, 'status', '--porcelain')]).toEqual([
    before,
    ' M a.txt\nA  staged.txt\n?? fresh.txt',
  ]);
  expect([existsSync(one.path), (await manager.list()).map(({ id }) => id)]).toEqual([false, [parent.id]]);
});

test('a branch in conflict with its parent stays, and the parent is as it was', async () => {
  const world = await makeWorld({ 'a.txt': 'a\n' });
  const { manager, edit } = world;
  const parent = await world.start('run');
  const branch = await manager.branchOff('fork/1', parent);
  edit(parent, 'a.txt', 'ours\n');
  edit(branch, 'a.txt', 'theirs\n');
  edit(branch, 'b.txt', 'b\n');
  expect(await manager.mergeBack(branch, parent)).toEqual({ conflicts: ['a.txt'] });
  expect([textOf(parent.path, 'a.txt'), textOf(parent.path, 'b.txt'), textOf(branch.path, 'a.txt')]).toEqual([
    'ours\n',
    undefined,
    'theirs\n',
  ]);
});

verifies('T-03').test(
  'a run is told the tree of its files, what changed since, and has them kept on a ref',
  async () => {
    const world = await makeWorld({ 'a.txt': 'a\n', '.gitignore': '*.log\n' });
    const { git, plain, edit, gitIn } = world;
    const captures = createRunCaptures({ git, clock: systemClock, copies: { settle: async () => {} } });
    const work = await world.start('run');
    const first = await captures.treeId(work.path);
    edit(work, 'x.log', 'ignored');
    const same = await Promise.all([captures.treeId(work.path), captures.treeId(work.path)]);
    edit(work, 'new.txt', 'n\n');
    gitIn(work.path, 'mv', 'a.txt', 'b.txt');
    const kept = await captures.checkpoint(work.path, 'refs/reef/checkpoints/run/1', 'after a block');
    expect([first, same]).toEqual([plain('rev-parse', 'main^{tree}'), [first, first]]);
    expect(await captures.changedFiles(work.path, first ?? '')).toEqual(['b.txt', 'a.txt', 'new.txt']);
    expect(plain('rev-parse', 'refs/reef/checkpoints/run/1^{commit}', 'refs/reef/checkpoints/run/1^{tree}')).toBe(
      `${kept.commit}\n${kept.tree}`,
    );
    const outside = temporaryFolder();
    expect(await captures.treeId(outside)).toBeUndefined();
  },
);
