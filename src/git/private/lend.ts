import { randomUUID } from 'node:crypto';
import { cp, lstat, mkdir, readdir, readFile, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { replace } from './carry.ts';
import { type Place, placeIn, writeSettled } from './place.ts';
import { packed, type Side } from './sides.ts';

/** What of git's data of a worktree is never the agent's to make. */
const CLOSED = { 'config.worktree': 'file', modules: 'folder', gitdir: 'file', commondir: 'file' } as const;
/** Git takes it for a lock of somebody's and leaves the folder that holds it: what is mounted there would go with it. */
const HELD = 'reef.lock';

const STASH = 'refs/stash';
/** Kinds of refs that are shown. Made with the copy, so that no agent can put a link in their place. */
const SHOWN = ['heads', 'tags', 'remotes'];
/** What is not shown of the repository's folder, because the copy has its own. */
const OWN = new Set(['objects', 'refs', 'logs', 'packed-refs']);

/** Makes the copy in one step: after a kill it is whole or not there. */
export async function makePlace(
  place: Place,
  { gitDir, commonDir }: Checkout,
  { branch, outside }: { branch: string | null; outside: Side },
): Promise<void> {
  const draft = placeIn(`${place.folder}.new`);
  await rm(draft.folder, { recursive: true, force: true });
  const inside = [join(draft.objects, 'info'), join(draft.objects, 'pack'), join(draft.logs, 'heads')];
  const shown = SHOWN.map((kind) => join(draft.refs, kind));
  for (const path of [...inside, ...shown, draft.branch, draft.log, draft.closed, draft.commons])
    await mkdir(path, { recursive: true, mode: 0o700 });
  await writeFile(draft.empty, '');
  await writeFile(join(draft.objects, 'info', 'alternates'), `${place.lent}\n`);
  await cp(gitDir, draft.gitDir, { recursive: true, preserveTimestamps: true, filter: isPlain });
  // The places of mounts: made here, they are never an agent's.
  for (const [name, kind] of Object.entries(CLOSED)) {
    const path = join(draft.gitDir, name);
    await rm(path, { recursive: true, force: true });
    await (kind === 'file' ? writeFile(path, '') : mkdir(path));
  }
  if (branch !== null && outside.tip !== null) {
    await writeFile(join(draft.branch, 'tip'), `${outside.tip}\n`);
    await cp(join(commonDir, 'logs', branch), join(draft.log, 'tip')).catch(ifAbsent);
  }
  const side = { tip: outside.tip, head: outside.head };
  const index = await lstat(join(draft.gitDir, 'index'), { bigint: true }).catch(ifAbsent);
  await writeSettled(draft, {
    branch,
    inside: { ...side, index: index ? `${index.ino} ${index.size} ${index.mtimeNs} ${index.ctimeNs}` : '' },
    outside: { ...side, index: outside.index?.stamp ?? '' },
  });
  await rename(draft.folder, place.folder);
}

async function isPlain(path: string): Promise<boolean> {
  const stat = await lstat(path);
  return stat.isDirectory() || (stat.isFile() && !path.endsWith('.lock'));
}

interface Mount {
  from: string;
  to: string;
  isReadOnly?: boolean;
}

/** What a sandbox shows in the place of the repository's own. */
export async function mountsOf(place: Place, checkout: Checkout, branch: string | null): Promise<Mount[]> {
  const { gitDir, commonDir } = checkout;
  const objects = join(commonDir, 'objects');
  const common = await makeCommon(place, checkout);
  const closed: Mount[] = [];
  for (const [name, kind] of Object.entries(CLOSED)) {
    const own = join(gitDir, name);
    const stand = kind === 'file' ? place.empty : place.closed;
    closed.push({ from: (await isThere(own)) ? own : stand, to: own, isReadOnly: true });
  }
  const refs = join(commonDir, 'refs');
  const kinds = SHOWN.map(async (kind) => {
    const own = join(refs, kind);
    return { from: (await isThere(own)) ? own : place.closed, to: own, isReadOnly: true };
  });
  return [
    ...common,
    { from: place.refs, to: refs },
    ...(await Promise.all(kinds)),
    { from: place.objects, to: objects },
    { from: objects, to: place.lent, isReadOnly: true },
    { from: place.gitDir, to: gitDir },
    ...closed,
    ...(branch === null ? [] : await branchMounts(place, commonDir, branch)),
  ];
}

/**
 * The repository's folder as a new one, in which each part lies read-only. Git makes a lock there for every ref that it removes,
 * also at the end of a rebase. Packed refs are a link: git follows it and makes its lock beside the copy.
 */
async function makeCommon(place: Place, { gitDir, commonDir }: Checkout): Promise<Mount[]> {
  const common = join(place.commons, randomUUID());
  await mkdir(common, { recursive: true, mode: 0o700 });
  await symlink(join('worktrees', basename(gitDir), basename(place.packedRefs)), join(common, 'packed-refs'));
  const shown = (await readdir(commonDir)).filter((name) => !OWN.has(name) && !name.endsWith('.lock'));
  const logs = join(commonDir, 'logs', 'refs');
  await mkdir(join(logs, 'heads'), { recursive: true });
  return [
    { from: common, to: commonDir },
    ...shown.map((name) => ({ from: join(commonDir, name), to: join(commonDir, name), isReadOnly: true })),
    { from: place.logs, to: logs },
    { from: join(logs, 'heads'), to: join(logs, 'heads'), isReadOnly: true },
  ];
}

/** Shows what the repository has packed meanwhile. What the agent's git packed of its own becomes loose before. */
export async function refreshPacked(place: Place, { commonDir }: Checkout, branch: string | null): Promise<void> {
  for (const [ref, folder] of [[branch, place.branch] as const, [STASH, place.refs] as const]) {
    const at = ref === null || (await isThere(join(folder, basename(ref)))) ? undefined : await packed(place, ref);
    if (ref !== null && at !== undefined) await replace(folder, basename(ref), { bytes: Buffer.from(`${at}\n`) });
  }
  const text = await readFile(join(commonDir, 'packed-refs'), 'latin1').catch(ifAbsent);
  const shown = (text ?? '').replace(new RegExp(`^[0-9a-f]+ ${STASH}\\n`, 'm'), '');
  await replace(place.gitDir, basename(place.packedRefs), { bytes: Buffer.from(shown, 'latin1') });
}

/** Git removes the folder of a packed branch, so it is made, and held. */
async function branchMounts(place: Place, commonDir: string, branch: string): Promise<Mount[]> {
  const folder = dirname(branch);
  const [refs, logs] = [join(commonDir, folder), join(commonDir, 'logs', folder)];
  for (const path of [refs, logs]) await mkdir(path, { recursive: true });
  await writeFile(join(refs, HELD), '', { flag: 'a' });
  return [
    { from: place.branch, to: refs },
    { from: place.log, to: logs },
  ];
}

/** Also what holds the folder of its branch. */
export async function dropPlace(place: Place, commonDir: string, branch: string | null): Promise<void> {
  if (branch !== null) {
    const folder = join(commonDir, dirname(branch));
    await rm(join(folder, HELD), { force: true });
    await rmdir(folder).catch(() => undefined); // where the branch lies in it, it stays
  }
  await rename(place.folder, join(dirname(place.folder), `${GONE}${randomUUID()}`)).catch(ifAbsent);
  await removeGone(dirname(place.folder));
}

/** In one step, and what an agent made so that it cannot be deleted keeps nobody from going on. */
async function removeGone(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(GONE));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
}

const GONE = '.gone-';

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function ifAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
