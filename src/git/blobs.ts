import { constants } from 'node:fs';
import { access, lstat } from 'node:fs/promises';
import { ReefError } from '../protocol/errors.ts';
import type { Checkout } from './checkout.ts';
import type { Git } from './git-command.ts';
import { checkOid, type Oid } from './ref-name.ts';

const BATCH = 1_000;
const HASH_MS = 300_000;
const HEADER_BYTES = 64;
/** For warnings: the cap holds for both of git's outputs. */
const SPARE_BYTES = 64 * 1024;

/** The ids under which git would store files. A link, an unreadable or absent file has none. Nothing is written. */
export async function* hashFiles(
  git: Git,
  checkout: Checkout,
  paths: Iterable<string>,
): AsyncGenerator<{ path: string; oid: Oid | undefined }> {
  for (const batch of batches(paths, BATCH)) {
    const regular = await Promise.all(batch.map((path) => isRegular(checkout, path)));
    const wanted = batch.filter((_, index) => regular[index]);
    const oids = new Map<string, Oid>();
    await hashInto(oids, git, { checkout, paths: wanted });
    for (const path of batch) yield { path, oid: oids.get(path) };
  }
}

async function isRegular({ toplevel }: Checkout, path: string): Promise<boolean> {
  if (/^\/|(^|\/)\.\.(\/|$)|\0/.test(path)) return false;
  const file = `${toplevel}/${path}`;
  try {
    if (!(await lstat(file)).isFile()) return false;
    await access(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Git stops at the first file it cannot read: that one has no id, and the files after it are asked again. */
async function hashInto(
  oids: Map<string, Oid>,
  git: Git,
  { checkout, paths }: { checkout: Checkout; paths: readonly string[] },
): Promise<void> {
  const hash = async (some: readonly string[], okCodes: readonly number[]) => {
    const input = some.map((path) => `${quoted(path)}\n`).join('');
    const { stdout } = await git.call(checkout, ['hash-object', '--stdin-paths'], {
      input,
      okCodes,
      timeoutMs: HASH_MS,
    });
    const answers = stdout.toString('latin1').split('\n').slice(0, -1).map(checkOid);
    for (const [index, oid] of answers.entries()) oids.set(some[index] as string, oid);
    return answers.length;
  };
  for (let rest = paths; rest.length > 0; ) {
    const [stopped, ...after] = rest.slice(await hash(rest, [0, 128]));
    // The file is readable, so something else failed: let git say what.
    if (stopped !== undefined && (await isRegular(checkout, stopped))) await hash([stopped], [0]);
    rest = after;
  }
}

/** One line per path. A path that breaks the line or looks quoted is quoted as in C. */
function quoted(path: string): string {
  if (!/^"|[\n\r]/.test(path)) return path;
  const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '"': '\\"', '\\': '\\\\' };
  return `"${path.replace(/[\n\r"\\]/g, (character) => escapes[character] ?? character)}"`;
}

export type BlobRead =
  | { oid: Oid; state: 'read'; content: Buffer }
  | { oid: Oid; state: 'too_large'; size: number }
  | { oid: Oid; state: 'missing' };

interface ReadLimits {
  /** Larger ones are named but not read. */
  maxBlobBytes?: number;
  /** Held at once. */
  maxBatchBytes?: number;
}

interface Sized {
  oid: Oid;
  /** `undefined`: there is no such blob. */
  size: number | undefined;
}
type Readable = Sized & { size: number };

/** The contents of blobs, in the order given, with at most `maxBatchBytes` in memory. */
export async function* readBlobs(
  git: Git,
  checkout: Checkout,
  { oids, maxBlobBytes = 4 * 1024 * 1024, maxBatchBytes = 16 * 1024 * 1024 }: ReadLimits & { oids: Iterable<Oid> },
): AsyncGenerator<BlobRead> {
  const isWanted = (blob: Sized): blob is Readable => blob.size !== undefined && blob.size <= maxBlobBytes;
  const costOf = (blob: Sized) => (isWanted(blob) ? blob.size : 0);
  for (const batch of batches(oids, BATCH)) {
    for (const group of groups(await readSizes(git, checkout, batch), costOf, maxBatchBytes)) {
      const contents = await readContents(git, checkout, group.filter(isWanted));
      for (const blob of group) yield toRead(blob, contents.get(blob.oid));
    }
  }
}

function toRead({ oid, size }: Sized, content: Buffer | undefined): BlobRead {
  if (content) return { oid, state: 'read', content };
  return size === undefined ? { oid, state: 'missing' } : { oid, state: 'too_large', size };
}

/** Splits items into runs that cost at most `limit`, or into single ones that cost more. */
function* groups<T>(items: readonly T[], costOf: (item: T) => number, limit: number): Generator<T[]> {
  let group: T[] = [];
  let cost = 0;
  for (const item of items) {
    if (group.length > 0 && cost + costOf(item) > limit) {
      yield group;
      [group, cost] = [[], 0];
    }
    group.push(item);
    cost += costOf(item);
  }
  yield group;
}

async function readSizes(git: Git, checkout: Checkout, oids: readonly Oid[]): Promise<Sized[]> {
  const input = oids.map((oid) => `${checkOid(oid)}\n`).join('');
  const { stdout } = await git.call(checkout, ['cat-file', '--batch-check=%(objecttype) %(objectsize)'], { input });
  const lines = stdout.toString('latin1').split('\n');
  return oids.map((oid, index) => {
    const [, size] = /^blob (\d+)$/.exec(lines[index] as string) ?? [];
    return { oid, size: size === undefined ? undefined : Number(size) };
  });
}

async function readContents(git: Git, checkout: Checkout, blobs: readonly Readable[]): Promise<Map<Oid, Buffer>> {
  const contents = new Map<Oid, Buffer>();
  if (blobs.length === 0) return contents;
  const input = blobs.map(({ oid }) => `${oid}\n`).join('');
  const maxBytes = blobs.reduce((sum, { size }) => sum + size + HEADER_BYTES, SPARE_BYTES);
  const { stdout } = await git.call(checkout, ['cat-file', '--batch=%(objectsize)'], { input, maxBytes });
  let at = 0;
  for (const { oid, size } of blobs) {
    const start = stdout.indexOf('\n', at) + 1;
    if (stdout.toString('latin1', at, start) !== `${size}\n`)
      throw new ReefError('git_failed', `git did not return ${oid}.`);
    contents.set(oid, Buffer.from(stdout.subarray(start, start + size)));
    at = start + size + 1;
  }
  return contents;
}

function* batches<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
