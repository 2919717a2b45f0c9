import { setImmediate as breathe } from 'node:timers/promises';
import type { Git } from '../../../git/git-command.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { Claims, Want } from '../store/claims.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Fact, FactStatus } from '../store/fact-table.ts';
import type { WordIndex } from '../store/word-index.ts';
import { Scratch } from '../tree/read-file.ts';
import type { TreeFile, WorktreeTree } from '../tree/worktree-tree.ts';
import { SKETCH_VERSION, type Sketch, SketchBuilder } from '../words/sketch.ts';
import { blobFromFile, blobsFromGit, type ReadBlob } from './blob-source.ts';
import type { Coverage } from './coverage.ts';
import type { SettledTrees } from './settled-trees.ts';

export interface StageDeps {
  git: Git;
  tree: WorktreeTree;
  store: FactStore;
  coverage: Coverage;
  settled: SettledTrees;
}

interface WordDeps extends StageDeps {
  words: WordIndex;
  /** Called for each blob whose words are known now. */
  onRead: (oid: Oid) => void;
}

const BATCH = 200;
const SLICE_MS = 40;
/** Words are written once all are read, when there is time. Other servers wait for them no longer than this. */
const MOST_HELD_MS = 5_000;
const HEAD_BYTES = 8 * 1024;

export type Round = 'worked' | 'waiting' | 'nothing';

type KnownFile = Pick<TreeFile, 'path' | 'isLocal'>;

/** Stage 1: a sketch for every blob of the map. */
export class WordStage {
  readonly #deps: WordDeps;
  readonly #builder = new SketchBuilder();
  readonly #scratch = new Scratch();
  /** Blobs without a sketch, each with one file that has it. */
  #todo = new Map<Oid, KnownFile>();
  #planned = -1;
  /** The leader knows what is missing here. */
  #isAsked = false;
  #claimed: Oid[] = [];
  #isLeading = false;
  /** Since when there are words in memory that are not on disk. */
  #heldSince = Number.POSITIVE_INFINITY;
  extracted = 0;

  constructor(deps: WordDeps) {
    this.#deps = deps;
  }

  get pending(): number {
    this.#plan();
    return this.#todo.size;
  }

  /** Looks again at what is missing: another server has written, or a claim was lost. */
  replan(): void {
    this.#planned = -1;
  }

  #plan(): void {
    const { tree, coverage, settled } = this.#deps;
    if (this.#planned === tree.version) return;
    const changed = tree.changedSince(this.#planned);
    this.#planned = tree.version;
    this.#isAsked = false;
    if (!changed) this.#todo = new Map();
    if (!changed && settled.get()) return;
    for (const { path, oid, isLocal } of changed ?? tree.files.values()) {
      if (coverage.words(oid) !== undefined) continue;
      const known = this.#todo.get(oid);
      if (!known || (known.isLocal && !isLocal)) this.#todo.set(oid, { path, isLocal });
    }
  }

  /** Works on one batch. `waiting`: another server is extracting what is missing. */
  async round(): Promise<Round> {
    this.#plan();
    const batch = this.#nextBatch();
    if (batch.length > 0) await this.#extract(batch);
    const hasWritten = this.#writeHeld(batch.length === 0);
    if (batch.length === 0 && !hasWritten) return this.#todo.size > 0 ? 'waiting' : 'nothing';
    await breathe(); // lets questions in
    return 'worked';
  }

  #writeHeld(hasTime: boolean): boolean {
    const heldMs = performance.now() - this.#heldSince;
    if (heldMs < 0 || (!hasTime && heldMs < MOST_HELD_MS)) return false;
    if (!this.#deps.store.flush(1)) this.#heldSince = Number.POSITIVE_INFINITY;
    return true;
  }

  #nextBatch(): readonly Oid[] {
    const { store } = this.#deps;
    const isIdle = this.#todo.size === 0 && !this.#isLeading;
    if (this.#claimed.length > 0 || isIdle) return this.#claimed; // idle: most questions write nothing
    const wants =
      store.failure === undefined ? store.write(({ claims }) => this.#claim(claims)) : this.#first(() => true);
    this.#claimed = wants?.map(({ oid }) => oid) ?? [];
    return this.#claimed;
  }

  #claim(claims: Claims): Want[] {
    this.#isLeading = claims.lead();
    const own = claims.claimAll(this.#first(({ isLocal }) => isLocal || this.#isLeading));
    if (own.length > 0) return own;
    if (!this.#isLeading) this.#ask(claims);
    const others = this.#isLeading ? claims.take(1, BATCH) : [];
    if (others.length > 0) return others;
    this.#isLeading = false;
    claims.follow();
    return [];
  }

  #ask(claims: Claims): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    claims.want([...this.#todo].filter(([, { isLocal }]) => !isLocal).map(([oid]) => toWant(oid)));
  }

  #first(isWanted: (known: KnownFile) => boolean): Want[] {
    const wants: Want[] = [];
    for (const [oid, known] of this.#todo) {
      if (wants.length === BATCH) break;
      if (isWanted(known)) wants.push(toWant(oid));
    }
    return wants;
  }

  /** As many as fit into the slice; the next round does the rest. */
  async #extract(batch: readonly Oid[]): Promise<void> {
    const { git, tree } = this.#deps;
    const end = performance.now() + SLICE_MS;
    const elsewhere: Oid[] = [];
    let at = 0;
    for (; at < batch.length && performance.now() < end; at++) {
      const oid = batch[at] as Oid;
      const known = this.#todo.get(oid);
      const blob = known && blobFromFile(tree, oid, known.path, this.#scratch);
      if (blob) this.#keep(oid, blob);
      else elsewhere.push(oid);
    }
    this.#claimed = batch.slice(at);
    if (elsewhere.length === 0) return;
    const found = await blobsFromGit(git, tree, elsewhere);
    for (const oid of elsewhere) {
      const blob = found.get(oid);
      if (blob) this.#keep(oid, blob);
      else this.#giveUp(oid);
    }
  }

  /** The file changed since it was looked at and git never had the blob. The next sweep finds the new one. */
  #giveUp(oid: Oid): void {
    this.#todo.delete(oid);
    this.#deps.store.write(({ claims }) => claims.done({ oid, lang: '', stage: 1 }));
  }

  #keep(oid: Oid, blob: ReadBlob): void {
    const { store, words, coverage, onRead } = this.#deps;
    const { status, sketch } = this.#read(blob);
    const { buffer, byteOffset, byteLength } = words.add(oid, sketch);
    const data = new Uint8Array(buffer, byteOffset, byteLength);
    const fact: Fact = { ...keyOf(oid), status, bytes: blob.size, data, ...this.#localTo(oid) };
    store.put(fact);
    coverage.add(fact);
    this.#todo.delete(oid);
    this.#heldSince = Math.min(this.#heldSince, performance.now());
    this.extracted += 1;
    onRead(oid);
  }

  #localTo(oid: Oid): Pick<Fact, 'localTo'> {
    return this.#todo.get(oid)?.isLocal ? { localTo: this.#deps.tree.checkout.toplevel } : {};
  }

  #read({ bytes }: ReadBlob): { status: FactStatus; sketch: Sketch } {
    if (bytes === undefined) return { status: 'too_large', sketch: new Uint32Array() };
    const isBinary = bytes.subarray(0, HEAD_BYTES).includes(0);
    if (isBinary) return { status: 'binary', sketch: new Uint32Array() };
    return { status: 'ok', sketch: this.#builder.sketch(bytes) };
  }
}

function keyOf(oid: Oid) {
  return { oid, lang: '', stage: 1, extractor: SKETCH_VERSION } as const;
}

function toWant(oid: Oid): Want {
  return { ...keyOf(oid), rank: 0 };
}
