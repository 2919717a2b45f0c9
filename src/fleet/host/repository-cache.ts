import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../../base/env.ts';
import type { RunResult, RunSpec } from '../../base/programs.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database } from '../database/database.ts';

interface CacheDeps {
  database: Database;
  env: Environment;
  run(spec: RunSpec): Promise<RunResult>;
}

const CLONE_MS = 30 * 60_000;

interface Checkout {
  path: string;
  /** Brings what is new and resolves with the commit of the default branch. */
  fetch(): Promise<string>;
}

/** The checkout of a repository on this host, cloned when it is first needed. Nobody works in it: runs have worktrees. */
export async function openCheckout(
  { database, env, run }: CacheDeps,
  { repository, folder }: { repository: string; folder: string },
): Promise<Checkout> {
  const sql = 'SELECT url, default_branch FROM reef.repository WHERE id = $1';
  const [row] = await database.query<{ url: string; default_branch: string }>(sql, [repository]);
  if (!row) throw new ReefError('repository_not_found', `The fleet has no repository ${repository}`);
  const path = join(folder, 'checkout');
  const git = async (cwd: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run({ file: 'git', args, cwd, env: gitEnv(env), timeoutMs: CLONE_MS });
    if (code === 0) return String(stdout).trim();
    throw new ReefError('remote_unavailable', `git ${args[0]} for ${repository}: ${String(stderr).trim().slice(-500)}`);
  };
  if (!existsSync(path)) {
    // Under another name until it is whole: half a clone is never taken for one.
    const half = `${path}.part-${process.pid}`;
    await git(dirname(folder), 'clone', '--quiet', '--branch', row.default_branch, '--', row.url, half);
    await rename(half, path);
  }
  return {
    path,
    async fetch() {
      await git(path, 'fetch', '--quiet', '--prune', 'origin');
      return git(path, 'rev-parse', '--verify', `refs/remotes/origin/${row.default_branch}^{commit}`);
    },
  };
}

/** The user's own keys and agent reach the remote; nothing asks at a terminal. */
function gitEnv({ all, home, path }: Environment): Record<string, string> {
  const { SSH_AUTH_SOCK } = all;
  return { PATH: path, HOME: home, GIT_TERMINAL_PROMPT: '0', ...(SSH_AUTH_SOCK !== undefined && { SSH_AUTH_SOCK }) };
}
