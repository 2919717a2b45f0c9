import type { Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Checkout } from '../../../git/checkout.ts';
import type { Git } from '../../../git/git-command.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { listUntracked } from '../../../git/tree.ts';
import { blobId, isBlob, type ObjectFormat } from './blob-id.ts';
import {
  isSameStamp,
  lookAt,
  MAX_READ_BYTES,
  type Room,
  readRegular,
  type Stamp,
  stampOf,
  TICK_MS,
} from './read-file.ts';
import { headReader, indexStamp, readTracked, type Tracked } from './tracked.ts';

/** What a kept overlay says of one file. It holds only while the file's stamp is the same. */
export interface OverlayEntry {
  path: string;
  oid: Oid;
  stamp: Stamp;
  /** When the content under `stamp` was found to be `oid`. */
  checkedAt: number;
}

export interface TreeFile extends OverlayEntry {
  /** Git may not have these bytes: only this worktree can read them. */
  isLocal: boolean;
}

interface Swept {
  head: string;
  beganAt: Date;
}

const MAX_HASHED_BYTES = 64 * 1024 * 1024;
/** After so many single files it is as quick to look through all. */
const MOST_REFRESHED = 1_000;
/** Files looked at before this thread pauses: git does not start earlier. */
const FILES_A_GO = 100;

interface TreeSettings {
  git: Git;
  checkout: Checkout;
  format: ObjectFormat;
  overlay?: readonly OverlayEntry[];
  /** Called with the tracked paths before the first file is looked at. */
  onListed?: (paths: Iterable<string>) => void;
}

interface Looking {
  tracked: Tracked;
  isNew: boolean;
  isRealFolder: (folder: string) => boolean;
}

/**
 * Maps the paths of one worktree to blobs. The map is never stored: it is built from git's index and kept true by sweeps. A sweep
 * compares the stamp of every file with the one its blob was found under, so a fresh answer needs no watch.
 */
export class WorktreeTree {
  readonly checkout: Checkout;
  readonly head: () => Promise<string>;
  readonly #settings: Omit<TreeSettings, 'overlay'>;
  #files = new Map<string, TreeFile>();
  #tracked: Tracked | undefined;
  #running: Promise<Swept> | undefined;
  #next: Promise<Swept> | undefined;
  #version = 0;
  /** The version of the last sweep that found a change, and the single files that changed since. */
  #swept = 0;
  #refreshed: { version: number; path: string }[] = [];
  #local: { version: number; count: number } | undefined;
  #remembered: Map<string, OverlayEntry>;
  /** Single files looked at during a sweep, which may have looked at them before. */
  readonly #lookedAt = new Set<string>();

  constructor({ overlay, ...settings }: TreeSettings) {
    this.#settings = settings;
    this.checkout = settings.checkout;
    this.head = headReader(settings.git, settings.checkout);
    this.#remembered = new Map(overlay?.map((entry) => [entry.path, entry]));
  }

  get files(): ReadonlyMap<string, TreeFile> {
    return this.#files;
  }

  /** Grows whenever a path or a blob of the map changes, or whether git has it. */
  get version(): number {
    return this.#version;
  }

  /** The files that changed since a version. Undefined: a sweep found changes, so any file may have. */
  changedSince(version: number): TreeFile[] | undefined {
    if (version < this.#swept) return undefined;
    const paths = this.#refreshed.filter((each) => each.version > version).map(({ path }) => path);
    return [...new Set(paths)].flatMap((path) => this.#files.get(path) ?? []);
  }

  get localCount(): number {
    if (this.#local?.version !== this.#version) {
      let count = 0;
      for (const { isLocal } of this.#files.values()) if (isLocal) count += 1;
      this.#local = { version: this.#version, count };
    }
    return this.#local.count;
  }

  /** The git tree that this worktree is equal to, file for file. Undefined: it is to none, or we do not know. */
  get pristine(): Oid | undefined {
    const { blobs, tree } = this.#tracked ?? {};
    return this.#files.size === blobs?.size && this.localCount === 0 ? tree : undefined;
  }

  get sourceBytes(): number {
    let bytes = 0;
    for (const { stamp } of this.#files.values()) bytes += stamp.size;
    return bytes;
  }

  /** The bytes of a file as they are now. Undefined: it is gone, too large or no regular file. */
  read(path: string, room?: Room, limit = MAX_READ_BYTES) {
    return readRegular(join(this.checkout.toplevel, path), limit, room);
  }

  get isRead(): boolean {
    return this.#tracked !== undefined;
  }

  /** A sweep that begins after this call; concurrent callers share it. */
  sweep(): Promise<Swept> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<Swept> {
    const running = this.#sweepNow().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  /** Git walks the folders for untracked files while this thread looks at the tracked ones. */
  async #sweepNow(): Promise<Swept> {
    const { git, format, onListed } = this.#settings;
    const beganAt = new Date();
    const isNew = this.#tracked === undefined || this.#tracked.stamp !== indexStamp(this.checkout);
    this.#lookedAt.clear();
    const listing = Promise.all([this.#listUntracked(), this.head()]);
    listing.catch(() => {}); // awaited below
    const tracked = isNew ? await readTracked(git, this.checkout, format) : (this.#tracked as Tracked);
    if (isNew) onListed?.(tracked.blobs.keys());
    const looking = { tracked, isNew, isRealFolder: folderCheck(this.checkout.toplevel) };
    const files = await this.#lookAtTracked(looking);
    const [untracked, head] = await listing;
    const isTracked = (path: string) => tracked.blobs.has(path);
    const again = [...this.#lookedAt].filter(isTracked);
    for (const path of [...again, ...untracked.filter((each) => !isTracked(each))]) {
      const found = this.#look(path, looking);
      if (found) files.set(path, found);
      else files.delete(path);
    }
    this.#take(tracked, files);
    return { head, beganAt };
  }

  async #listUntracked(): Promise<string[]> {
    const paths: string[] = [];
    // A path that ends with `/` is a repository or worktree of its own.
    for await (const path of listUntracked(this.#settings.git, this.checkout))
      if (!path.endsWith('/')) paths.push(path);
    return paths;
  }

  async #lookAtTracked(looking: Looking): Promise<Map<string, TreeFile>> {
    const files = new Map<string, TreeFile>();
    let at = 0;
    for (const path of looking.tracked.blobs.keys()) {
      if (at % FILES_A_GO === 0) await breathe();
      const found = this.#look(path, looking, at++);
      if (found) files.set(path, found);
    }
    return files;
  }

  #take(tracked: Tracked, files: Map<string, TreeFile>): void {
    this.#tracked = tracked;
    this.#remembered = new Map();
    if (isOther(this.#files, files)) {
      this.#version += 1;
      this.#swept = this.#version;
      this.#refreshed = [];
    }
    this.#files = files;
  }

  /** `at` is the file's place among the tracked ones. Without it the file is hashed. */
  #look(path: string, { tracked, isNew, isRealFolder }: Looking, at?: number): TreeFile | undefined {
    const stats = lookAt(`${this.checkout.toplevel}/${path}`); // no `join`: it takes as long as the look
    if (!stats?.isFile() || !isRealFolder(dirname(path))) return undefined;
    const oid = tracked.blobs.get(path) ?? undefined;
    const remembered = this.#remembered.get(path);
    const known = this.#files.get(path) ?? (remembered && { ...remembered, isLocal: remembered.oid !== oid });
    // If the index has another blob now, what we knew may rest on the wrong one.
    const isKnown = known && isSettled(known, stats) && (!isNew || known.isLocal || known.oid === oid);
    if (isKnown) return known.isLocal === (known.oid !== oid) ? known : { ...known, isLocal: known.oid !== oid };
    const clean = { path, oid: oid ?? '', stamp: stampOf(stats), checkedAt: tracked.asOf, isLocal: false };
    const mayDiffer = at === undefined || tracked.mayDiffer(at, stats, path);
    // Git compares times by the second: of a file we know, our stamps tell more.
    if (!known && oid !== undefined && !mayDiffer && isSettled(clean, stats)) return clean;
    return this.#hash(path, oid);
  }

  /** Reads the file and finds its blob: the one in the index if the bytes match it, otherwise the id of the bytes. */
  #hash(path: string, indexOid: Oid | undefined): TreeFile | undefined {
    const checkedAt = Date.now();
    const read = this.read(path, undefined, MAX_HASHED_BYTES);
    if (read === undefined) return undefined;
    const isClean = indexOid !== undefined && isBlob(read.bytes, indexOid);
    const oid = isClean ? indexOid : blobId(read.bytes, this.#settings.format);
    return { path, oid, stamp: read.stamp, checkedAt, isLocal: !isClean };
  }

  /** Looks at one file alone, for a question about it. Undefined: it is no file of this worktree. */
  refresh(path: string): TreeFile | undefined {
    const stats = lookAt(join(this.checkout.toplevel, path));
    const isFile = stats?.isFile() === true && folderCheck(this.checkout.toplevel)(dirname(path));
    const known = this.#files.get(path);
    if (isFile && known && isSettled(known, stats)) return known;
    const found = isFile ? this.#hash(path, this.#tracked?.blobs.get(path) ?? undefined) : undefined;
    this.#lookedAt.add(path);
    if (!this.isRead) return found;
    if (found?.oid !== known?.oid) {
      this.#version += 1;
      this.#note(path);
    }
    // A file that no sweep has listed may be ignored by git: the next sweep tells.
    if (found && (known || this.#tracked?.blobs.has(path))) this.#files.set(path, found);
    else if (!found) this.#files.delete(path);
    return found;
  }

  #note(path: string): void {
    if (this.#refreshed.push({ version: this.#version, path }) <= MOST_REFRESHED) return;
    this.#swept = this.#version;
    this.#refreshed = [];
  }

  /** The files that differ from the index, kept for the next start. */
  overlay(): OverlayEntry[] {
    const local = [...this.#files.values()].filter(({ isLocal }) => isLocal);
    return local.map(({ path, oid, stamp, checkedAt }) => ({ path, oid, stamp, checkedAt }));
  }
}

/** The stamp is the same, and was old enough when it was taken to stand for one content. */
function isSettled({ stamp, checkedAt }: { stamp: Stamp; checkedAt: number }, stats: Stats): boolean {
  return isSameStamp(stamp, stats) && stamp.ctimeMs <= checkedAt - TICK_MS;
}

function isOther(before: ReadonlyMap<string, TreeFile>, after: ReadonlyMap<string, TreeFile>): boolean {
  if (before.size !== after.size) return true;
  for (const [path, { oid, isLocal }] of after) {
    const old = before.get(path);
    if (old?.oid !== oid || old.isLocal !== isLocal) return true;
  }
  return false;
}

/** Tells whether a folder is one of the worktree: not behind a link, and not one that a forged index invents. */
function folderCheck(root: string): (folder: string) => boolean {
  const known = new Map([
    ['.', true],
    ['/', false],
  ]);
  const isReal = (folder: string): boolean => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const isFolder = basename(folder) !== '..' && lookAt(join(root, folder))?.isDirectory() === true;
    const answer = isFolder && isReal(dirname(folder));
    known.set(folder, answer);
    return answer;
  };
  return isReal;
}
