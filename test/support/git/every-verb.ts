import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { advanceBranch, restoreFiles } from '../../../src/git/advance.ts';
import { hashFiles, readBlobs } from '../../../src/git/blobs.ts';
import { type Capture, capture } from '../../../src/git/capture.ts';
import { commitTree } from '../../../src/git/commit.ts';
import { diffRanges, diffTrees } from '../../../src/git/diff.ts';
import type { Git } from '../../../src/git/git-command.ts';
import { mergeAll, mergeTrees } from '../../../src/git/merge.ts';
import { listRefs, setRef } from '../../../src/git/refs.ts';
import { findCommit, isAncestor, readHead, readIdentity, readRef, readTree } from '../../../src/git/repository.ts';
import { readStatus } from '../../../src/git/status.ts';
import { filteredPaths, listIgnored, listIndex, listTouched, listTree, listUntracked } from '../../../src/git/tree.ts';
import { listWorktrees, pruneWorktree, removeCleanWorktree, removeWorktree } from '../../../src/git/worktree.ts';
import { collect } from '../repository.ts';
import { addWorktree } from './add-worktree.ts';
import type { HostileWorld } from './hostile.ts';

const AT = new Date('2026-03-04T05:06:07Z');
const signature = { name: 'N', email: 'n@example.invalid', at: AT };

/** Every function of the room that starts git, in an order in which each has something to do. */
export async function* everyVerb(
  world: HostileWorld,
  git: Git,
): AsyncGenerator<[name: string, act: () => Promise<unknown>]> {
  const { checkout, root, place, write, git: safe } = world;
  const path = join(root, 'worktrees', 'w');
  const { commit } = await readHead(safe, place);
  const tree = await readTree(safe, place, commit);
  const { left, right, first, second } = world.commits;
  yield ['locate', () => git.locate(checkout)];
  yield ['readHead', () => readHead(git, place)];
  yield ['readTree', () => readTree(git, place, commit)];
  yield ['findCommit', () => findCommit(git, place, 'main')];
  yield ['readRef', () => readRef(git, place, 'refs/heads/main')];
  yield ['isAncestor', () => isAncestor(git, place, { of: commit, commit })];
  yield ['readIdentity', () => readIdentity(git, place)];
  yield ['setRef', () => setRef(git, place, { ref: 'refs/reef/a/b', to: commit, from: null })];
  yield ['setRef, delete', () => setRef(git, place, { ref: 'refs/reef/a/b', to: null, from: commit })];
  yield ['listRefs', () => listRefs(git, place, 'refs/heads')];
  yield ['listTree', () => collect(listTree(git, place, tree))];
  yield ['listIndex', () => collect(listIndex(git, place))];
  write('a.txt', 'one\n2\nthree\n');
  write('b.md', 'one\n2\nthree\n');
  write('new.txt', 'new\n');
  write('x.log', 'ignored\n');
  yield ['listUntracked', () => collect(listUntracked(git, place))];
  yield ['listIgnored', () => collect(listIgnored(git, place))];
  yield ['listTouched', () => collect(listTouched(git, place))];
  yield ['readStatus', () => readStatus(git, place)];
  yield ['filteredPaths', () => filteredPaths(git, place, ['a.txt', 'b.md'])];
  yield ['hashFiles', () => collect(hashFiles(git, place, ['a.txt', 'b.md', 'c.odd', 'd.uni', 'new.txt']))];
  yield ['hashFiles, a process', () => collect(hashFiles(git, place, ['e.proc']))];
  let kept: Capture | undefined;
  yield [
    'capture',
    async () => {
      kept = await capture(git, place, { ref: 'refs/reef/held/1', message: 'x', at: AT });
    },
  ];
  const blobs = (await collect(listTree(safe, place, left)))
    .filter(({ mode }) => mode === '100644')
    .map(({ oid }) => oid);
  yield ['readBlobs', () => collect(readBlobs(git, place, { oids: [...blobs, '1'.repeat(40)] }))];
  yield ['diffTrees', () => diffTrees(git, place, { from: commit, to: left })];
  yield ['diffRanges', () => diffRanges(git, place, { from: commit, to: left })];
  yield ['commitTree', () => commitTree(git, place, { tree, parents: [commit], message: 'x', signature })];
  yield ['mergeTrees', () => mergeTrees(git, place, { ours: left, theirs: right })];
  yield [
    'mergeAll',
    () =>
      mergeAll(
        git,
        place,
        [left, second].map((ours) => ({ ours, theirs: first })),
      ),
  ];
  yield ['addWorktree', () => addWorktree(git, place, { path, branch: 'reef/w-1/tip', commit, reason: 'x' })];
  yield ['listWorktrees', () => listWorktrees(git, place)];
  yield ['restoreFiles', async () => restoreFiles(git, await git.locate(path), kept ?? { tree })];
  yield [
    'capture in a worktree',
    async () => capture(git, await git.locate(path), { ref: 'refs/reef/held/2', message: 'x', at: AT }),
  ];
  yield ['removeCleanWorktree', async () => removeCleanWorktree(git, place, await git.locate(path))];
  yield ['removeWorktree', () => removeWorktree(git, place, path)];
  const gone = join(root, 'worktrees', 'gone');
  const added = { path: gone, branch: 'reef/w-2/tip', commit, reason: 'x' };
  yield ['addWorktree again', () => addWorktree(git, place, added)];
  rmSync(gone, { recursive: true, force: true });
  yield ['pruneWorktree', () => pruneWorktree(git, place, gone)];
  rmSync(join(checkout, 'new.txt'));
  write('a.txt', 'one\ntwo\nthree\n');
  write('b.md', 'one\ntwo\nthree\n');
  yield ['advanceBranch', () => advanceBranch(git, place, { branch: 'main', from: commit, to: left })];
  yield [
    'advanceBranch, no checkout',
    () => advanceBranch(git, place, { branch: 'reef/w-2/tip', from: commit, to: left }),
  ];
}
