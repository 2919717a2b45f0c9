import { join } from 'node:path';
import { createSafeDir } from '../../base/safe-dir.ts';
import { requireLayer } from '../../runtime/config/check-layer.ts';
import { type ReefBlock, reefSchema } from '../../runtime/config/reef-block.ts';
import { configInvalid, isProblem, parseSource } from '../../runtime/config/settings-file.ts';

const LARGEST_FILE = 1024 * 1024;
export const PROJECT_CONFIG = '.reef/config.yaml';

/** What `.reef/config.yaml` says about worktrees, gates and git. */
type Overlay = Pick<ReefBlock, 'worktree' | 'gates' | 'git'>;

/** A file of a checkout; undefined when absent. Links that lead out are not followed. */
export async function readProjectFile(root: string, path: string): Promise<string | undefined> {
  const inHome = path.startsWith('.reef/');
  const dir = createSafeDir(inHome ? join(root, '.reef') : root);
  try {
    return (await dir.read(inHome ? path.slice('.reef/'.length) : path, LARGEST_FILE)).toString('utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Strict: a gate whose name is misspelt would let everything pass. */
export function readOverlay(text: string): Overlay {
  const source = parseSource(PROJECT_CONFIG, text);
  if (isProblem(source)) throw configInvalid([source]);
  const { gates, worktree, git } = reefSchema.parse(requireLayer(source).reef ?? {});
  return { gates, worktree, git };
}
