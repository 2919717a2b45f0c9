import { existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Place, readPlace } from '../git/place.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import type { Job } from '../protocol/jobs.ts';

export type GitMounts = Required<Pick<SandboxSpec, 'writable' | 'readOnly' | 'hidden' | 'guarded'>>;

/**
 * What a commit in a worktree of Reef's writes: objects, what git keeps of this worktree, and the folder of its own branch. Other
 * branches, configuration and hooks stay closed, and so does all of git in the user's own checkout.
 */
export async function gitMounts(
  job: Pick<Job, 'cwd' | 'worktree' | 'sandbox' | 'readonly'>,
): Promise<GitMounts | undefined> {
  const { cwd, worktree, sandbox, readonly } = job;
  if (sandbox === 'none' || readonly || worktree === undefined) return undefined;
  const place = await readPlace(cwd).catch(() => undefined);
  if (!place || place.gitDir === place.commonDir) return undefined;
  const own = (name: string) => join(place.gitDir, name);
  const config = own('config.worktree');
  const isThere = existsSync(config);
  return {
    writable: [join(place.commonDir, 'objects'), place.gitDir, ...(await branchFolders(place, worktree))],
    readOnly: [own('gitdir'), own('commondir'), ...(isThere ? [config] : [])],
    hidden: isThere ? [] : [config], // git reads it as a file, so an empty one stands for it
    guarded: [own('modules')],
  };
}

/** By the name Reef gave it (T-02): an agent may have pointed HEAD elsewhere. Git removes folders of refs that it packs. */
async function branchFolders({ gitDir, commonDir }: Place, worktree: string): Promise<string[]> {
  const head = await readFile(join(gitDir, 'HEAD'), 'utf8');
  const [, folder, id] = /^ref: (refs\/heads\/reef\/[a-z0-9-]+-([a-z0-9]{8}))\/tip\s*$/.exec(head) ?? [];
  if (folder === undefined || id !== worktree.slice(-8).toLowerCase()) return [];
  const folders = [join(commonDir, folder), join(commonDir, 'logs', folder)];
  for (const path of folders) mkdirSync(path, { recursive: true });
  return folders;
}
