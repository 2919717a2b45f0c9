import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { checkOid, type Oid } from './ref-name.ts';

const CHECK_MS = 600_000;
const FOLDER = 'reef-check-';
const LISTING_BYTES = 512 * 1024 * 1024;
/** What only branches below `reef/` have is not known to be good, because agents move those. Reef's own refs hold what was checked. */
const KNOWN = ['--exclude=reef/*', '--branches', '--tags', '--remotes', '--glob=refs/reef/*'];

/**
 * Refuses a commit that brings objects which git's strictest check refuses: names such as `.git` or `..` in a folder, a link in
 * the place of `.gitmodules`, damaged content, or parts that are missing. An agent can write such objects and such an index
 * without git's help, and nobody could check out the branch that they are merged into.
 */
export async function checkHistory(git: Git, checkout: Checkout, commit: Oid): Promise<void> {
  const toplevel = checkout.toplevel;
  try {
    const args = ['rev-list', '--objects', checkOid(commit), '--not', ...KNOWN];
    const { stdout } = await git.call(checkout, args, { timeoutMs: CHECK_MS, maxBytes: LISTING_BYTES });
    if (stdout.length > 0) await checkObjects(git, checkout, stdout);
  } catch (cause) {
    if (!(cause instanceof ReefError && cause.code === 'git_failed')) throw cause;
    throw new ReefError(
      'history_refused',
      `Git refuses what was committed or staged in ${toplevel}: ${cause.message}`,
      {
        cause,
        details: { toplevel },
      },
    );
  }
}

/** Into a pack of their own and not into the repository: only git's reader of packs checks names, content and links at once. */
async function checkObjects(git: Git, checkout: Checkout, listed: Buffer): Promise<void> {
  const objects = join(checkout.commonDir, 'objects');
  await removeLeftovers(objects);
  // Git writes its pack among the objects and renames it: the folder of temporary files may be on another file system.
  const folder = await mkdtemp(join(objects, FOLDER));
  try {
    const pack = ['pack-objects', '--quiet', '--window=0', join(folder, 'brought')];
    const { stdout } = await git.call(checkout, pack, { input: listed, timeoutMs: CHECK_MS });
    const [written, checked] = [
      join(folder, `brought-${checkOid(stdout.toString('latin1').trim())}`),
      join(folder, 'checked'),
    ];
    const check = ['index-pack', '--strict', '-o', `${checked}.idx`, `${written}.pack`];
    await git.call(checkout, check, { timeoutMs: CHECK_MS });
    // One lists the names that objects had, the other those that their content gives them.
    const [had, have] = [await readFile(`${written}.idx`), await readFile(`${checked}.idx`)];
    if (!had.equals(have)) throw new ReefError('git_failed', 'an object is damaged');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a killed check left: none takes so long. */
async function removeLeftovers(objects: string): Promise<void> {
  for (const name of await readdir(objects)) {
    if (!name.startsWith(FOLDER)) continue;
    const path = join(objects, name);
    const made = await stat(path).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > 2 * CHECK_MS) await rm(path, { recursive: true, force: true });
  }
}
