import type { JobGit } from '../agents/launcher.ts';
import type { Checkout } from '../git/checkout.ts';
import type { Git } from '../git/git-command.ts';
import type { PrivateGits } from '../git/private/private-gits.ts';
import { ReefError, toReefError } from '../protocol/errors.ts';

/** Not worth a word: the next look brings over what is finished then. */
const PASSING: readonly ReefError['code'][] = ['repo_busy', 'git_locked', 'not_a_repository', 'cwd_missing'];

/** Jobs and the copies of git's data in which those in a sandbox commit. Without a repository there are none. */
export function jobGit(repository: { git: Git; copies: PrivateGits } | undefined): JobGit {
  if (!repository) return { lend: async () => [], settle: async () => undefined };
  const { git, copies } = repository;
  return {
    async lend({ cwd, worktree }) {
      if (worktree === undefined) return [];
      const checkout = await git.locate(cwd);
      return isWorktree(checkout, worktree) ? copies.lend(checkout) : [];
    },
    async settle({ cwd, worktree }) {
      if (worktree === undefined) return undefined;
      try {
        await copies.settle(await git.locate(cwd));
        return undefined;
      } catch (error) {
        if (error instanceof ReefError && PASSING.includes(error.code)) return undefined;
        return `what was committed is not in the repository yet: ${toReefError(error).message}`;
      }
    },
  };
}

/** Copies have the name of the folder. */
function isWorktree({ toplevel, gitDir, commonDir }: Checkout, id: string): boolean {
  return gitDir !== commonDir && toplevel.endsWith(`/${id}`);
}
