import { basename } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { isId } from '../base/ids.ts';
import { KeyedSerial } from '../base/serial.ts';
import { capture } from '../git/capture.ts';
import { diffTrees } from '../git/diff.ts';
import type { Git } from '../git/git-command.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Copies } from './deps.ts';
import { refs } from './layout.ts';
import { namesOf } from './radar/compare.ts';

/** What git tells a run about the files of its worktree, without ignored ones. */
export interface RunCaptures {
  /** The files as they are now; undefined where there is no repository. */
  now(worktreePath: string): Promise<{ commit: string; tree: string } | undefined>;
  treeId(worktreePath: string): Promise<string | undefined>;
  changedFiles(worktreePath: string, sinceTree: string): Promise<string[]>;
  /** Keeps the files on a ref; index, branch and files stay. The same state gives the same tree. */
  checkpoint(worktreePath: string, ref: string, message: string): Promise<{ commit: string; tree: string }>;
}

export function createRunCaptures({
  git,
  clock,
  copies,
}: {
  git: Git;
  clock: Clock;
  copies: Pick<Copies, 'settle'>;
}): RunCaptures {
  const locks = new KeyedSerial();
  const take = (path: string, ref: string, message: string) =>
    locks.run(path, async () => {
      const checkout = await git.locate(path);
      await copies.settle(checkout);
      return capture(git, checkout, { ref, message, at: clock.now() });
    });
  const look = (path: string) => {
    const name = basename(path);
    return take(path, refs.tree(isId(name) ? name : 'checkout'), 'Reef looks');
  };
  const now = (path: string) =>
    look(path).catch((error: unknown) => {
      if (error instanceof ReefError && error.code === 'not_a_repository') return undefined;
      throw error;
    });
  return {
    now,
    treeId: async (path) => (await now(path))?.tree,
    async changedFiles(path, sinceTree) {
      const { tree } = await look(path);
      const changes = await diffTrees(git, await git.locate(path), { from: sinceTree, to: tree });
      return changes.flatMap(namesOf);
    },
    async checkpoint(path, ref, message) {
      const { commit, tree } = await take(path, ref, message);
      return { commit, tree };
    },
  };
}
