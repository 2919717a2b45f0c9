import type { Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import type { Checkout } from '../../../git/checkout.ts';
import type { Git } from '../../../git/git-command.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { listUntracked } from '../../../git/tree.ts';
import { blobId, isBlob, type ObjectFormat } from './blob-id.ts';
import { HeadReader } from './head.ts';
import { isSameStamp, lookAt, readRegular, type Stamp, stampOf, TICK_MS } from './read-file.ts';
import { indexStamp, readTracked, type Tracked } from './tracked.ts';

/** One path and the one blob it has here. */
export interface TreeFile {
  path: string;
  oid: Oid;
  stamp: Stamp;
  /** When what `stamp` stands for was found to be `oid`. */
  checkedAt: number;
  /** No git object has these bytes for sure: only this worktree can read them. */
  isLocal: boolean;
}

/** What a kept overlay says of one file; reused only if the file's stamp is still the same. */
export interface OverlayEntry {
  path: string;
  oid: Oid;
  stamp: Stamp;
  checkedAt: number;
}

export interface Swept {
  head: string;
  beganAt: Date;
}

/** Larger ones are not read for their id: stage 1 skips them anyway. */
const MAX_BYTES = 64 * 1024 * 1024;
/** After so many it is as quick to look through all files. */
const MOST_REFRESHED = 1_000;
/** Looked at in one go: git is not started before this thread pauses. */
const FILES_A_GO = 100;

interface TreeSettings {
  git: Git;
  checkout: Checkout;
  format: ObjectFormat;
  overlay?: readonly OverlayEntry[];
  /** Told what is tracked before the first file has been looked at. */
  onListed?: (paths: Iterable<string>) => void;
}

interface Looking {
  tracked: Tracked;
  isNew: boolean;
  folders: FolderCheck;
}

/**
 * The map path → blob of one worktree: never stored, rebuilt from git's index, and kept true by sweeps. A sweep compares the
 * stamp of every file with the one its blob was found under, so no watch is needed for an answer to be fresh.
 */
export class WorktreeTree {
  readonly checkout: Checkout;
  readonly #git: Git;
  readonly #format: ObjectFormat;
  readonly #head: HeadReader;
  readonly #onListed: TreeSettings['onListed'];
  #files = new Map<string, TreeFile>();
  #tracked: Tracked | undefined;
  #running: Promise<Swept> | undefined;
  #next: Promise<Swept> | undefined;
  #version = 0;
  /** The version a sweep made, and the files looked at by themselves since. */
  #swept = 0;
  #refreshed: { version: number; path: string }[] = [];
  #local: { version: number; count: number } | undefined;
  #remembered: Map<string, OverlayEntry>;
  /** Looked at by themselves while a sweep was under way: it may have looked before. */
  readonly #lookedAt = new Set<string>();

  constructor({ git, checkout, format, overlay = [], onListed }: TreeSettings) {
    this.#git = git;
    this.checkout = checkout;
    this.#format = format;
    this.#head = new HeadReader(git, checkout);
    this.#onListed = onListed;
    this.#remembered = new Map(overlay.map((entry) => [entry.path, entry]));
  }

  get files(): ReadonlyMap<string, TreeFile> {
    return this.#files;
  }

  /** Moves whenever a path or a blob of the map does, or what git has of it. */
  get version(): number {
    return this.#version;
  }

  /** The files that changed since a version, one by one: nothing else has. Undefined: a sweep found changes, of whatever. */
  changedSince(version: number): TreeFile[] | undefined {
    if (version < this.#swept) return undefined;
    const paths = this.#refreshed.filter((each) => each.version > version).map(({ path }) => path);
    return [...new Set(paths)].flatMap((path) => this.#files.get(path) ?? []);
  }

  /** How many files differ from the index. */
  get localCount(): number {
    if (this.#local?.version !== this.#version) {
      let count = 0;
      for (const { isLocal } of this.#files.values()) if (isLocal) count += 1;
      this.#local = { version: this.#version, count };
    }
    return this.#local.count;
  }

  get sourceBytes(): number {
    let bytes = 0;
    for (const { stamp } of this.#files.values()) bytes += stamp.size;
    return bytes;
  }

  get isRead(): boolean {
    return this.#tracked !== undefined;
  }

  head(): Promise<string> {
    return this.#head.read();
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

  /** Git walks the folders for what is untracked while this thread looks at what is tracked. */
  async #sweepNow(): Promise<Swept> {
    const beganAt = new Date();
    const isNew = this.#tracked === undefined || this.#tracked.stamp !== indexStamp(this.checkout);
    this.#lookedAt.clear();
    const listing = Promise.all([this.#listUntracked(), this.head()]);
    listing.catch(() => {}); // heard of below
    const tracked = isNew ? await readTracked(this.#git, this.checkout, this.#format) : (this.#tracked as Tracked);
    if (isNew) this.#onListed?.(tracked.blobs.keys());
    const looking = { tracked, isNew, folders: new FolderCheck(this.checkout.toplevel) };
    const files = await this.#lookAtTracked(looking);
    const [untracked, head] = await listing;
    this.#lookAgain(files, looking);
    this.#lookAtUntracked(files, untracked, looking);
    this.#take(tracked, files);
    return { head, beganAt };
  }

  async #listUntracked(): Promise<string[]> {
    const paths: string[] = [];
    // What ends with `/` is a repository or worktree of its own: not ours to answer for.
    for await (const path of listUntracked(this.#git, this.checkout)) if (!path.endsWith('/')) paths.push(path);
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

  /** A file that was hashed since for a question of its own is hashed no second time. */
  #lookAgain(files: Map<string, TreeFile>, looking: Looking): void {
    for (const path of this.#lookedAt) {
      if (!looking.tracked.blobs.has(path)) continue;
      const found = this.#look(path, looking);
      if (found) files.set(path, found);
      else files.delete(path);
    }
  }

  #lookAtUntracked(files: Map<string, TreeFile>, paths: readonly string[], looking: Looking): void {
    for (const path of paths) {
      const found = looking.tracked.blobs.has(path) ? undefined : this.#look(path, looking);
      if (found) files.set(path, found);
    }
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

  /** `at`: its place among those that are tracked. Without it the file itself must tell. */
  #look(path: string, { tracked, isNew, folders }: Looking, at?: number): TreeFile | undefined {
    const stats = lookAt(`${this.checkout.toplevel}/${path}`); // as git gives it: to normalise it takes as long as to look
    if (!stats?.isFile() || !folders.isReal(dirname(path))) return undefined;
    const known = this.#files.get(path) ?? this.#recall(path, tracked);
    const oid = tracked.blobs.get(path) ?? undefined;
    // The index has another blob for it than before, so what we knew rests on the wrong one.
    const isKnown = known && isSettled(known, stats) && (!isNew || known.isLocal || known.oid === oid);
    if (isKnown) return known.isLocal === (known.oid !== oid) ? known : { ...known, isLocal: known.oid !== oid };
    const clean = { path, oid: oid ?? '', stamp: stampOf(stats), checkedAt: tracked.asOf, isLocal: false };
    const mayDiffer = at === undefined || tracked.mayDiffer(at, stats, path);
    // Git compares times by the second: of a file we have seen before, a change it cannot tell is one we can.
    if (!known && oid !== undefined && !mayDiffer && isSettled(clean, stats)) return clean;
    return this.#hash(path, oid);
  }

  #recall(path: string, { blobs }: Tracked): TreeFile | undefined {
    const entry = this.#remembered.get(path);
    return entry && { ...entry, isLocal: entry.oid !== blobs.get(path) };
  }

  /** Reads the file and finds its blob: git's own where the bytes are those, else the id of the bytes as they are. */
  #hash(path: string, indexOid: Oid | undefined): TreeFile | undefined {
    const checkedAt = Date.now();
    const read = readRegular(join(this.checkout.toplevel, path), MAX_BYTES);
    if (read === undefined) return undefined;
    const isClean = indexOid !== undefined && isBlob(read.bytes, indexOid);
    const oid = isClean ? indexOid : blobId(read.bytes, this.#format);
    return { path, oid, stamp: read.stamp, checkedAt, isLocal: !isClean };
  }

  /** A question about one file looks at that file alone. Undefined: it is no file of this worktree, or not one git lists. */
  refresh(path: string): TreeFile | undefined {
    const stats = lookAt(join(this.checkout.toplevel, path));
    const isFile = stats?.isFile() === true && new FolderCheck(this.checkout.toplevel).isReal(dirname(path));
    const known = this.#files.get(path);
    if (isFile && known && isSettled(known, stats)) return known;
    const found = isFile ? this.#hash(path, this.#tracked?.blobs.get(path) ?? undefined) : undefined;
    this.#lookedAt.add(path);
    if (!this.isRead) return found;
    if (found?.oid !== known?.oid) {
      this.#version += 1;
      this.#note(path);
    }
    // A file git was not asked about yet may be ignored: the next sweep tells.
    if (found && (known || this.#tracked?.blobs.has(path))) this.#files.set(path, found);
    else if (!found) this.#files.delete(path);
    return found;
  }

  #note(path: string): void {
    if (this.#refreshed.push({ version: this.#version, path }) <= MOST_REFRESHED) return;
    this.#swept = this.#version;
    this.#refreshed = [];
  }

  /** What differs from the index, to be kept for the next start. */
  overlay(): OverlayEntry[] {
    const local = [...this.#files.values()].filter(({ isLocal }) => isLocal);
    return local.map(({ path, oid, stamp, checkedAt }) => ({ path, oid, stamp, checkedAt }));
  }
}

/** The stamp is the same, and old enough when it was taken to stand for one content only. */
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

/** A folder that is a link leads out of the worktree, whatever lies behind it, and so does one an index only pretends to have. */
class FolderCheck {
  readonly #root: string;
  readonly #known = new Map<string, boolean>([
    ['.', true],
    ['/', false],
  ]);

  constructor(root: string) {
    this.#root = root;
  }

  isReal(folder: string): boolean {
    const known = this.#known.get(folder);
    if (known !== undefined) return known;
    const stats = lookAt(join(this.#root, folder));
    const isReal = basename(folder) !== '..' && stats?.isDirectory() === true && this.isReal(dirname(folder));
    this.#known.set(folder, isReal);
    return isReal;
  }
}
