import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkout } from '../../../src/git/checkout.ts';
import type { PrivateGits } from '../../../src/git/private/private-gits.ts';
import { worktreeBranch } from '../../../src/git/ref-name.ts';
import { makeRepository, type PlainGit, plainGit, type TestRepository } from '../repository.ts';
import { verifies } from '../verifies.ts';
import { addWorktree } from './add-worktree.ts';
import { capabilities, openCopies, type Reopened } from './copies.ts';

const WHY = 'bubblewrap is not installed or not allowed to work';

export const boxed = (...ids: Parameters<typeof verifies>) =>
  verifies(...ids).needs(capabilities.bubblewrap !== undefined, WHY);

export const WORKTREE = '01KXAGENTC0PY0000000000001';

/** A worktree of a real repository, an agent's copy of its git, and a real sandbox around whatever the agent does. */
export interface CopyWorld extends TestRepository {
  worktree: Checkout;
  branch: string;
  /** The folder of the copy. */
  copy: string;
  gits: PrivateGits;
  /** Plain git of a person in the worktree. */
  own: PlainGit;
  /** What the agent does, in its sandbox; returns what it wrote. Throws where it fails. */
  agent(script: string): Promise<string>;
  /** As after a restart. */
  reopen(options?: Reopened): PrivateGits;
}

export async function makeCopyWorld(files?: Record<string, string>): Promise<CopyWorld> {
  const repository = makeRepository(files);
  const { root, git, place, env, plain } = repository;
  const branch = worktreeBranch('Copy', WORKTREE);
  const path = join(root, 'worktrees', WORKTREE);
  mkdirSync(join(root, 'worktrees'));
  const worktree = await addWorktree(git, place, { path, branch, commit: plain('rev-parse', 'HEAD'), reason: 'reef' });
  const { folder, open, act } = openCopies(repository);
  const world: CopyWorld = {
    ...repository,
    ...{ worktree, branch: `refs/heads/${branch}`, copy: join(folder, WORKTREE), own: plainGit(path, env) },
    gits: open(),
    reopen(options) {
      world.gits = open(options);
      return world.gits;
    },
    agent: (script) => act(world.gits, worktree, script),
  };
  return world;
}
