import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSafeDir, type SafeDir } from '../base/safe-dir.ts';

/** Git sees of the folder what a team may want to share. */
const IGNORED = '*\n!workflows.json\n!workflows.yaml\n';

/**
 * The repository's `.reef/`, in which people keep configuration and Reef leaves a copy of its state for readers. It may be hostile:
 * links in it are not followed, and nothing in it is read as state.
 */
export function openRepositoryFolder(repository: string): Pick<SafeDir, 'write'> {
  const path = join(repository, '.reef');
  return {
    async write(name, data) {
      if (!lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path, { mode: 0o700 });
      const folder = createSafeDir(path);
      const isThere = lstatSync(join(path, '.gitignore'), { throwIfNoEntry: false }) !== undefined;
      if (!isThere) await folder.write('.gitignore', Buffer.from(IGNORED));
      await folder.write(name, data);
    },
  };
}
