import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Deps } from '../deps.ts';

/**
 * A folder leaves its place in one rename, so that a kill in the middle of deleting it never leaves half a worktree that
 * could be taken for somebody's work.
 */
export async function moveToTrash({ layout }: Deps, path: string): Promise<void> {
  const trash = layout.trashOf(randomUUID());
  await mkdir(dirname(trash), { recursive: true, mode: 0o700 });
  await rename(path, trash);
}

/** All in the trash was kept elsewhere, or was nobody's, before it came there. What cannot be deleted waits for the next time. */
export async function emptyTrash({ layout, log }: Deps): Promise<void> {
  const folder = dirname(layout.trashOf('x'));
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch((error: unknown) =>
      log.warn('a removed worktree could not be deleted', { path, error }),
    );
  }
}
