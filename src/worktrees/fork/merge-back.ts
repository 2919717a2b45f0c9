import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Capture, capture } from '../../git/capture.ts';
import { commitTree } from '../../git/commit.ts';
import { mergeTrees } from '../../git/merge.ts';
import type { Place } from '../../git/place.ts';
import type { Oid } from '../../git/ref-name.ts';
import { refs } from '../layout.ts';
import { folderOf, openWorktree } from '../open-worktree.ts';
import type { Parts } from '../parts.ts';

const CHECKOUT_MS = 600_000;

/**
 * Lays the work of a fork's branch into its parent's files; index and branch of the parent stay. Counted from the files
 * both began with, so a second time brings nothing new. With conflicts nothing is laid, and the branch keeps its work (W-26).
 */
export async function mergeBack(parts: Parts, branchId: string, parentId: string): Promise<{ conflicts: string[] }> {
  const branch = parts.records.get(branchId);
  if (branch.status === 'discarded') return { conflicts: [] };
  const [from, into] = [await take(parts, branchId), await take(parts, parentId)];
  const { git, clock } = parts;
  const signature = { name: 'Reef', email: 'reef@localhost.invalid', at: clock.now() };
  const began = { parents: [branch.base.commit], message: 'Reef joins', signature };
  const [ours, theirs] = [
    await commitTree(git, into.worktree, { ...began, tree: into.tree }),
    await commitTree(git, into.worktree, { ...began, tree: from.tree }),
  ];
  const { isClean, conflicts, tree } = await mergeTrees(git, into.worktree, { ours, theirs });
  if (!isClean) return { conflicts };
  if (tree !== into.tree) await layFiles(parts, into.worktree, { from: into.tree, to: tree });
  return { conflicts: [] };
}

async function take(parts: Parts, id: string): Promise<Capture & { worktree: Place }> {
  const row = parts.records.get(id);
  const worktree = await openWorktree(parts, folderOf(row));
  const message = `Reef joins ${row.title}`;
  return {
    worktree,
    ...(await capture(parts.git, worktree, { ref: refs.work(id), message, at: parts.clock.now() })),
  };
}

/** Through an index of its own that knows every file: git writes only what differs and refuses what changed meanwhile. */
async function layFiles({ git }: Parts, worktree: Place, { from, to }: { from: Oid; to: Oid }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reef-join-'));
  try {
    const options = { indexFile: join(folder, 'index'), timeoutMs: CHECKOUT_MS };
    await git.call(worktree, ['read-tree', from], options);
    await git.call(worktree, ['update-index', '-q', '--refresh'], { ...options, okCodes: [0, 1] });
    await git.call(worktree, ['read-tree', '-m', '-u', from, to], options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
