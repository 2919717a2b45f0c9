import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync, type Stats } from 'node:fs';
import { open, opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import { writeAtomic } from './atomic-file.ts';
import { refusePath, safeParts, whyUnsafe } from './safe-path.ts';

interface Entry {
  name: string;
  kind: 'file' | 'dir' | 'link' | 'other';
  size: number;
  mode: number;
}

/**
 * A folder whose content may be hostile. Paths are relative; none leaves it, neither by its text nor through a link.
 * Refusals are `path_outside_worktree`; what is merely absent is the system's own ENOENT.
 */
export interface SafeDir {
  readonly root: string;
  read(path: string, cap?: number): Promise<Buffer>;
  /** Makes missing folders. Keeps the mode of a file that exists unless told another. */
  write(path: string, data: Uint8Array, mode?: number): Promise<void>;
  /** Entries in order of their names, less those no path may name. */
  list(path: string): Promise<Entry[]>;
  /** Removes a file, a link itself, or an empty folder. */
  remove(path: string): Promise<void>;
  stat(path: string): Promise<Entry>;
}

const READ_CAP = 16 * 1024 * 1024;
const LIST_CAP = 10_000;
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface SafeDirOptions {
  openAnchor?: OpenAnchor;
  /** What the writes belong to, which is done again after a kill: each then takes the place of what its first attempt left. */
  effect?: string;
}

export function createSafeDir(root: string, options: SafeDirOptions = {}): SafeDir {
  const { openAnchor = anchorOfPlatform(), effect } = options;
  /** Holds the folder of `path` open while `use` works on its last part. */
  const within = async <T>(path: string, use: (leaf: string) => Promise<T> | T, makeMode?: number): Promise<T> => {
    const parts = safeParts(path);
    const name = parts.pop();
    if (name === undefined) throw refusePath(path, 'names no entry');
    return held(openAnchor({ root, parts, ...(makeMode === undefined ? {} : { makeMode }) }), (dir) =>
      use(`${dir}/${name}`),
    );
  };

  return {
    root,
    read: (path, cap = READ_CAP) => within(path, (leaf) => readRegular(leaf, path, cap)),
    write: (path, data, mode) => {
      const repeats = effect === undefined ? {} : { effect: `${effect}\0${safeParts(path).join('/')}` };
      return within(
        path,
        (leaf) => writeAtomic(leaf, data, { mode: mode ?? modeOf(leaf), ...repeats }),
        dirMode(mode ?? 0o600),
      );
    },
    list: async (path) => held(openAnchor({ root, parts: safeParts(path) }), listDir),
    remove: (path) => within(path, (leaf) => (lstatSync(leaf).isDirectory() ? rmdir(leaf) : unlink(leaf))),
    stat: async (path) => {
      const parts = safeParts(path);
      const name = parts.at(-1);
      if (name !== undefined) return within(path, (leaf) => toEntry(name, lstatSync(leaf)));
      return held(openAnchor({ root, parts }), (dir) => toEntry('', lstatSync(`${dir}/.`)));
    },
  };
}

function anchorOfPlatform(): OpenAnchor {
  return process.platform === 'linux' ? descriptorAnchor : realpathAnchor;
}

async function held<T>(anchor: Anchor, use: (dir: string) => Promise<T> | T): Promise<T> {
  try {
    return await use(anchor.path);
  } finally {
    anchor.close();
  }
}

/** Refuses a FIFO, device or socket, which could make the reader hang. */
async function readRegular(leaf: string, path: string, cap: number): Promise<Buffer> {
  const file = await open(leaf, READ_FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ELOOP') throw refusePath(path, 'is a link', error);
    if (error.code === 'ENXIO') throw notRegular(path);
    throw error;
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw notRegular(path);
    if (stat.size > cap) {
      throw new ReefError('bad_request', `${path} has ${stat.size} bytes; at most ${cap} are read.`, {
        details: { path, size: stat.size, cap },
      });
    }
    const data = Buffer.allocUnsafe(stat.size);
    let length = 0;
    while (length < stat.size) {
      const { bytesRead } = await file.read(data, length, stat.size - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return data.subarray(0, length);
  } finally {
    await file.close();
  }
}

function notRegular(path: string): ReefError {
  return new ReefError('bad_request', `${path} is not a regular file.`, { details: { path } });
}

async function listDir(dir: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const { name } of await opendir(dir)) {
    const stat = lstatSync(`${dir}/${name}`, { throwIfNoEntry: false });
    if (stat && whyUnsafe(name) === undefined) entries.push(toEntry(name, stat));
    if (entries.length > LIST_CAP) throw new ReefError('bad_request', `A folder has more than ${LIST_CAP} entries.`);
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function toEntry(name: string, stat: Stats): Entry {
  return { name, kind: kindOf(stat), size: stat.size, mode: stat.mode & 0o777 };
}

function kindOf(stat: Stats): Entry['kind'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'dir';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

function modeOf(leaf: string): number {
  const stat = lstatSync(leaf, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.mode & 0o777 : 0o600;
}

/** Whoever may read a file may enter its folder. */
function dirMode(fileMode: number): number {
  return fileMode | 0o700 | ((fileMode & 0o444) >> 2);
}

/** A folder held open: `${path}/name` is an entry of this folder even if somebody swaps in a link. */
interface Anchor {
  readonly path: string;
  close(): void;
}

interface AnchorRequest {
  root: string;
  parts: readonly string[];
  /** If present, missing folders are created with this mode. */
  makeMode?: number;
}

export type OpenAnchor = (request: AnchorRequest) => Anchor;

const DIR_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Linux: opens part by part without following links, so that nobody can swap a folder between check and use. */
export const descriptorAnchor: OpenAnchor = ({ root, parts, makeMode }) => {
  let fd = openDir(root, root);
  try {
    for (const part of parts) {
      const path = `/proc/self/fd/${fd}/${part}`;
      if (makeMode !== undefined) makeDir(path, makeMode);
      const next = openDir(path, parts.join('/'));
      closeSync(fd);
      fd = next;
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { path: `/proc/self/fd/${fd}`, close: () => closeSync(fd) };
};

/** Elsewhere a race between check and use is possible; only the sandbox protects there. */
export const realpathAnchor: OpenAnchor = ({ root, parts, makeMode }) => {
  if (lstatSync(root).isSymbolicLink()) throw refusePath(root, 'is a link');
  let path = realpathSync(root);
  for (const part of parts) {
    const next = join(path, part);
    if (makeMode !== undefined) makeDir(next, makeMode);
    path = realpathSync(next);
    if (path !== next) throw refusePath(parts.join('/'), 'leads through a link');
  }
  return { path, close: () => undefined };
};

function openDir(path: string, shown: string): number {
  try {
    return openSync(path, DIR_FLAGS);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR' || code === 'ELOOP') throw refusePath(shown, 'leads through a link or a file', error);
    throw error;
  }
}

function makeDir(path: string, mode: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
