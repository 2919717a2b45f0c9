import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';

/**
 * An agent's own copy of git's data of one worktree. The agent writes what is in `objects`, `gitDir`, `branch`, `log`, `refs` and
 * `logs`, so those are read as input: no link is followed, and no git outside a sandbox opens them. The rest is ours.
 */
export interface Place {
  folder: string;
  objects: string;
  gitDir: string;
  branch: string;
  log: string;
  /** Refs and logs beside those that are shown: of a stash. */
  refs: string;
  logs: string;
  /** Of each launch an own folder, in which the repository's lies: git makes locks there. */
  commons: string;
  packedRefs: string;
  /** Where the repository's objects are shown, read-only, in the sandbox. Outside nothing lies here. */
  lent: string;
  /** An empty folder and an empty file, for what stays closed. */
  closed: string;
  empty: string;
  out: string;
  scratch: string;
  state: string;
}

export function placeIn(folder: string): Place {
  const at = (name: string) => join(folder, name);
  return {
    folder,
    ...{ objects: at('objects'), gitDir: at('git'), branch: at('branch'), log: at('log'), lent: at('lent') },
    ...{ refs: at('refs'), logs: at('logs'), commons: at('commons'), packedRefs: join(at('git'), 'packed-refs') },
    ...{ closed: at('closed'), empty: at('empty'), out: at('out'), scratch: at('scratch'), state: at('state.json') },
  };
}

/** `index`: which file it was. */
const sideSchema = z.strictObject({ tip: z.string().nullable(), head: z.string(), index: z.string() });
const settledSchema = z.strictObject({
  /** The full name of the branch whose folder is private; null where HEAD was on none of Reef's. */
  branch: z.string().nullable(),
  inside: sideSchema,
  outside: sideSchema,
});

/** Where both sides were when they last agreed. */
export type Settled = z.infer<typeof settledSchema>;

export async function readSettled({ state }: Place): Promise<Settled | undefined> {
  const file = await readPlain(state, STATE_BYTES);
  return file && settledSchema.parse(JSON.parse(file.bytes.toString('utf8')));
}

export function writeSettled({ state }: Place, settled: Settled): Promise<void> {
  return writeAtomic(state, JSON.stringify(settled));
}

const STATE_BYTES = 64 * 1024;

export interface PlainFile {
  bytes: Buffer;
  /** Tells it from another of the same name. */
  stamp: string;
  mtimeMs: number;
}

/** A file that is no link and not too large; undefined for anything else. Its folder has to be ours. */
export async function readPlain(path: string, limit: number): Promise<PlainFile | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (ABSENT.includes(error.code ?? '')) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat({ bigint: true });
    if (!stat.isFile() || stat.size > limit) return undefined;
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    return { bytes: await file.readFile(), stamp, mtimeMs: Number(stat.mtimeMs) };
  } finally {
    await file.close();
  }
}

const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR', 'EACCES'];
