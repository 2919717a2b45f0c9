import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withoutEnd } from '../base/without-end.ts';
import { ReefError } from '../protocol/errors.ts';

/** A checkout and its repository, as recorded at first contact. All are real paths. */
export interface Checkout {
  readonly toplevel: string;
  /** Of this checkout: its HEAD and index. */
  readonly gitDir: string;
  /** Of the repository: its objects, refs and configuration. */
  readonly commonDir: string;
}

const POINTER_BYTES = 8 * 1024;
const CONFIG_BYTES = 4 * 1024 * 1024;

export function redirected(toplevel: string, why: string, cause?: unknown): ReefError {
  return new ReefError('git_redirected', `${toplevel} ${why}.`, { cause, details: { toplevel } });
}

export function isSameCheckout(one: Checkout, other: Checkout): boolean {
  return one.toplevel === other.toplevel && one.gitDir === other.gitDir && one.commonDir === other.commonDir;
}

/** Where the `.git` of a folder leads, read without git, to compare with what git says. */
export async function readCheckout(toplevel: string): Promise<Checkout> {
  try {
    const gitDir = await realpath(await gitDirOf(toplevel));
    const common = await readSmall(join(gitDir, 'commondir'), POINTER_BYTES);
    if (common === undefined) return { toplevel, gitDir, commonDir: gitDir };
    await checkWayBack(toplevel, gitDir);
    return { toplevel, gitDir, commonDir: await realpath(resolve(gitDir, oneLine(common))) };
  } catch (cause) {
    if (cause instanceof ReefError) throw cause;
    throw redirected(toplevel, 'is not the top folder of a git checkout', cause);
  }
}

async function gitDirOf(toplevel: string): Promise<string> {
  const dotGit = join(toplevel, '.git');
  if ((await stat(dotGit)).isDirectory()) return dotGit;
  const [, path] = /^gitdir: (.+)$/s.exec(oneLine((await readSmall(dotGit, POINTER_BYTES)) ?? Buffer.of())) ?? [];
  if (path === undefined) throw redirected(toplevel, 'has a .git file that leads nowhere');
  return resolve(toplevel, path);
}

/** The git folder of a linked checkout names its folder. A `.git` bent to another checkout would use a foreign index. */
async function checkWayBack(toplevel: string, gitDir: string): Promise<void> {
  const back = await readSmall(join(gitDir, 'gitdir'), POINTER_BYTES);
  const owner = back && resolve(gitDir, oneLine(back), '..');
  if (owner === undefined || (await realpath(owner)) !== toplevel) {
    throw redirected(toplevel, `uses the git folder of ${owner ?? 'no checkout'}`);
  }
}

function oneLine(bytes: Buffer): string {
  return withoutEnd(bytes.toString('utf8'), '\r\n');
}

/** Undefined when absent. Refuses a FIFO or a huge file, which would block us. */
async function readSmall(path: string, limit: number): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > limit) throw new Error(`${path} is not a file of at most ${limit} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Changes with any of the files: by content, and by inode and time, which see a change that was taken back. Throws if unreadable. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = await readSmall(path, CONFIG_BYTES);
    const at = content && (await stat(path, { bigint: true }));
    hash.update(JSON.stringify([path, at && `${at.ino} ${at.ctimeNs}`, content?.length ?? null]));
    if (content) hash.update(content);
  }
  return hash.digest('hex');
}
