import { createHash } from 'node:crypto';
import type { FileMeta } from '../../protocol/repostate.ts';
import { fileType } from '../snapshot/file-type.ts';
import { type FileFacts, type Stamp, sha256Of, statFile } from './file-facts.ts';
import type { GitSource, GitView } from './git-view.ts';

/** A listed file, with what only this process knows about it. */
export interface Known {
  meta: FileMeta;
  stamp?: Stamp;
  mode?: string;
  /** A job has read or written it, so it is listed even when it equals base. */
  isTouched: boolean;
}

interface Scan {
  view: GitView | undefined;
  files: Map<string, Known>;
  /** Paths whose content, existence or mode has changed. */
  changed: string[];
}

interface ScanInput {
  root: string;
  source: GitSource | undefined;
  known: ReadonlyMap<string, Known>;
  /** When the last scan began. A file touched since may have been written twice within one tick of its clock. */
  lastScanNs: bigint;
}

interface Reading {
  facts: Map<string, FileFacts | undefined>;
  hashes: Map<string, string>;
  blobs: Map<string, string>;
}

/**
 * The files as they are on disk now. A file with an unchanged stamp is not read again. Known files are read while git still
 * looks; only those that git finds in addition have to wait for it.
 */
export async function scan(input: ScanInput): Promise<Scan> {
  const [view, known] = await Promise.all([input.source?.look(), read(input, [...input.known.keys()])]);
  const found = [...(view?.base.keys() ?? [])].filter((path) => !input.known.has(path));
  const more = await read(input, found);
  const files = new Map<string, Known>();
  const paths = [...input.known.keys(), ...found];
  for (const path of paths) {
    const { facts, hashes, blobs } = input.known.has(path) ? known : more;
    const next = describe(path, { input, view, facts: facts.get(path), hash: hashes.get(path), blob: blobs.get(path) });
    if (next) files.set(path, next);
  }
  nameRenames(files, view);
  return { view, files, changed: paths.filter((path) => isChanged(input.known.get(path), files.get(path))) };
}

async function read({ root, source, known, lastScanNs }: ScanInput, paths: readonly string[]): Promise<Reading> {
  const facts = new Map<string, FileFacts | undefined>();
  for (const path of paths) facts.set(path, await statFile(root, path));
  const toHash = paths.flatMap((path) => {
    const now = facts.get(path);
    return now && needsReading(now, known.get(path), lastScanNs) ? [{ path, kind: now.kind }] : [];
  });
  const [hashes, blobs = new Map<string, string>()] = await Promise.all([hashAll(root, toHash), source?.blobs(toHash)]);
  for (const { path } of toHash) if (!hashes.has(path)) facts.set(path, undefined);
  return { facts, hashes, blobs };
}

/** A file that has disappeared gets no hash. */
async function hashAll(
  root: string,
  files: readonly { path: string; kind: FileFacts['kind'] }[],
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for (const { path, kind } of files) {
    const hash = await sha256Of(root, path, kind);
    if (hash !== undefined) hashes.set(path, hash);
  }
  return hashes;
}

function needsReading(facts: FileFacts, known: Known | undefined, lastScanNs: bigint): boolean {
  const stamp = known?.stamp;
  if (!stamp || known.meta.status === 'unknown' || known.meta.hash === '') return true;
  const isSame = stamp.size === facts.size && stamp.mtimeNs === facts.mtimeNs && stamp.inode === facts.inode;
  return !isSame || facts.mtimeNs >= lastScanNs;
}

interface Described {
  input: ScanInput;
  view: GitView | undefined;
  facts: FileFacts | undefined;
  hash: string | undefined;
  blob: string | undefined;
}

function describe(path: string, { input, view, facts, hash, blob }: Described): Known | undefined {
  const before = input.known.get(path);
  const base = view?.base.get(path);
  const isTouched = before?.isTouched ?? false;
  if (!facts) return (view ? base : before) ? missing(path, before) : undefined;
  const currentBlob = hash === undefined ? before?.meta.blob : blob;
  const status = view ? statusOf(base, currentBlob, facts.mode) : (before?.meta.status ?? 'created');
  if (status === 'unchanged' && !isTouched) return undefined;
  const { from: _, blob: __, ...rest } = before?.meta ?? {};
  const meta: FileMeta = {
    ...rest,
    path,
    hash: hash ?? before?.meta.hash ?? '',
    size: facts.size,
    modTime: facts.modTime,
    type: fileType(path),
    status,
    ...(currentBlob !== undefined && { blob: currentBlob }),
  };
  return { meta, isTouched, mode: facts.mode, stamp: { size: facts.size, mtimeNs: facts.mtimeNs, inode: facts.inode } };
}

/** A file that git does not list is as in HEAD, and so as in base. */
function statusOf(
  base: { mode: string; oid: string } | null | undefined,
  blob: string | undefined,
  mode: string,
): FileMeta['status'] {
  if (base === undefined) return 'unchanged';
  if (base === null) return 'created';
  return base.oid === blob && base.mode === mode ? 'unchanged' : 'modified';
}

/** The file is gone. A name that is not UTF-8 cannot be looked up, so its status is unknown. */
function missing(path: string, before: Known | undefined): Known {
  const { blob: _, from: __, ...rest } = before?.meta ?? {};
  const meta: FileMeta = {
    ...rest,
    path,
    hash: '',
    size: 0,
    modTime: before?.meta.modTime ?? '',
    type: fileType(path),
    status: path.includes('\ufffd') ? 'unknown' : 'deleted',
  };
  return { meta, isTouched: before?.isTouched ?? false };
}

/** A new file with the content of a deleted one is that file renamed. The old name is then not listed. */
function nameRenames(files: Map<string, Known>, view: GitView | undefined): void {
  const gone = new Map<string, string>();
  for (const [path, { meta }] of files) {
    const oid = view?.base.get(path)?.oid;
    if (meta.status === 'deleted' && oid !== undefined) gone.set(oid, path);
  }
  for (const { meta } of files.values()) {
    const from = meta.status === 'created' && meta.blob !== undefined ? gone.get(meta.blob) : undefined;
    if (from === undefined) continue;
    meta.from = from;
    gone.delete(meta.blob ?? '');
    if (!files.get(from)?.isTouched) files.delete(from);
  }
}

function isChanged(before: Known | undefined, after: Known | undefined): boolean {
  // A job has just read it for the first time, so no change is known.
  if (before?.meta.hash === '' && before.meta.status === 'unchanged') return false;
  if (!before || !after) return before !== after && (after?.meta ?? before?.meta)?.status !== 'unchanged';
  return (
    before.meta.hash !== after.meta.hash ||
    (before.mode !== undefined && after.mode !== undefined && before.mode !== after.mode)
  );
}

/** One value for the whole worktree: equal values mean equal trees. */
export function fingerprintOf(files: Iterable<Known>): string {
  const lines = [...files]
    .filter(({ meta }) => meta.status !== 'unchanged')
    .map(({ meta, mode }) => JSON.stringify([meta.path, mode ?? '', meta.blob ?? meta.hash]))
    .sort();
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}
