import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { refusePath } from './safe-path.ts';

/** A folder held so that `${path}/name` is an entry of that very folder, wherever links point by now. */
export interface Anchor {
  readonly path: string;
  close(): void;
}

interface AnchorRequest {
  root: string;
  parts: readonly string[];
  /** Present: folders that are missing are made with this mode. */
  makeMode?: number;
}

export type OpenAnchor = (request: AnchorRequest) => Anchor;

const DIR_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Linux: one descriptor per part, none through a link, so nobody can swap a folder between check and use. */
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

/** Elsewhere: a race is possible between check and use; the sandbox is the wall there. */
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
