import { setImmediate as breathe } from 'node:timers/promises';
import type { Oid } from '../../../git/ref-name.ts';
import type { Claims, OwnWant, Want } from '../store/claims.ts';
import type { FactStore } from '../store/fact-store.ts';
import type { Fact } from '../store/fact-table.ts';
import type { WordIndex } from '../store/word-index.ts';
import { Scratch } from '../tree/read-file.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import { SKETCH_VERSION, type Sketch, SketchBuilder } from '../words/sketch.ts';
import type { BlobBytes, BlobSource } from './blob-source.ts';
import type { Coverage } from './coverage.ts';

interface StageDeps {
  tree: WorktreeTree;
  store: FactStore;
  words: WordIndex;
  coverage: Coverage;
  source: BlobSource;
  /** Told of each blob whose words are known now. */
  onRead: (oid: Oid) => void;
}

const BATCH = 200;
const SLICE_MS = 40;
/** Words are written when all are read, which is when there is time for it; for no longer do other servers wait for them. */
const MOST_HELD_MS = 5_000;

export type Round = 'worked' | 'waiting' | 'nothing';

interface KnownFile {
  path: string;
  isLocal: boolean;
}

/** Stage 1: a sketch for every blob of the map. */
export class WordStage {
  readonly #deps: StageDeps;
  readonly #builder = new SketchBuilder();
  readonly #scratch = new Scratch();
  /** What is missing, and one path that has it. */
  #todo = new Map<Oid, KnownFile>();
  #planned = -1;
  /** Whoever leads knows what is missing here. */
  #isAsked = false;
  #claimed: Want[] = [];
  #isLeading = false;
  /** Since when words are known that are not written. */
  #heldSince = Number.POSITIVE_INFINITY;
  /** Sketches made by this server. */
  extracted = 0;

  constructor(deps: StageDeps) {
    this.#deps = deps;
  }

  /** How many blobs of the map still miss their sketch. */
  get pending(): number {
    this.#plan();
    return this.#todo.size;
  }

  /** Another server has written, or what we claimed is lost: look again what is missing. */
  replan(): void {
    this.#planned = -1;
  }

  #plan(): void {
    const { tree, coverage } = this.#deps;
    if (this.#planned === tree.version) return;
    const changed = tree.changedSince(this.#planned);
    this.#planned = tree.version;
    this.#isAsked = false;
    if (!changed) this.#todo = new Map();
    for (const { path, oid, isLocal } of changed ?? tree.files.values()) {
      if (coverage.words(oid) !== undefined) continue;
      const known = this.#todo.get(oid);
      if (!known || (known.isLocal && !isLocal)) this.#todo.set(oid, { path, isLocal });
    }
  }

  /** One batch. `waiting`: what is missing, another server is about to give. */
  async round(): Promise<Round> {
    this.#plan();
    const batch = this.#nextBatch();
    if (batch.length > 0) await this.#extract(batch);
    const hasWritten = this.#writeHeld(batch.length === 0);
    if (batch.length === 0 && !hasWritten) return this.#todo.size > 0 ? 'waiting' : 'nothing';
    await breathe(); // questions come in between
    return 'worked';
  }

  #writeHeld(hasTime: boolean): boolean {
    const heldMs = performance.now() - this.#heldSince;
    if (heldMs < 0 || (!hasTime && heldMs < MOST_HELD_MS)) return false;
    if (!this.#deps.store.flush(1)) this.#heldSince = Number.POSITIVE_INFINITY;
    return true;
  }

  #nextBatch(): Oid[] {
    const { store } = this.#deps;
    const isIdle = this.#todo.size === 0 && !this.#isLeading;
    if (this.#claimed.length === 0 && isIdle) return []; // most questions: nothing is written for them
    if (store.failure !== undefined) return this.#first(() => true).map(({ oid }) => oid);
    if (this.#claimed.length === 0) this.#claimed = store.write(({ claims }) => this.#claim(claims)) ?? [];
    return this.#claimed.map(({ oid }) => oid);
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
    claims.want([...this.#todo].filter(([, { isLocal }]) => !isLocal).map(toWant));
  }

  #first(isWanted: (known: KnownFile) => boolean): OwnWant[] {
    const wants: OwnWant[] = [];
    for (const each of this.#todo) {
      if (wants.length === BATCH) break;
      if (isWanted(each[1])) wants.push(toWant(each));
    }
    return wants;
  }

  /** As many as fit into the slice; the rest is the next round's. */
  async #extract(batch: readonly Oid[]): Promise<void> {
    const end = performance.now() + SLICE_MS;
    const made: Words[] = [];
    const elsewhere: Oid[] = [];
    let at = 0;
    for (; at < batch.length && performance.now() < end; at++) {
      const oid = batch[at] as Oid;
      const known = this.#todo.get(oid);
      const blob = known && this.#deps.source.fromFile(oid, known.path, this.#scratch);
      if (blob === undefined) elsewhere.push(oid);
      else if (blob.state !== 'gone') made.push(wordsOf(oid, blob, this.#builder));
    }
    const rest = new Set(batch.slice(at));
    this.#claimed = this.#claimed.filter(({ oid }) => rest.has(oid));
    await this.#fromGit(elsewhere, made);
    this.#keep(made);
  }

  async #fromGit(oids: readonly Oid[], made: Words[]): Promise<void> {
    if (oids.length === 0) return;
    const found = await this.#deps.source.fromGit(oids);
    for (const oid of oids) {
      const blob: BlobBytes = found.get(oid) ?? { state: 'gone' };
      if (blob.state !== 'gone') made.push(wordsOf(oid, blob, this.#builder));
      else this.#giveUp(oid);
    }
  }

  /** The file changed since it was looked at and git never had it: the next sweep finds what it is now. */
  #giveUp(oid: Oid): void {
    this.#todo.delete(oid);
    this.#deps.store.write(({ claims }) => claims.done({ oid, lang: '', stage: 1 }));
  }

  #keep(made: readonly Words[]): void {
    const { store, words, coverage, onRead } = this.#deps;
    if (made.length > 0) this.#heldSince = Math.min(this.#heldSince, performance.now());
    for (const { fact, sketch } of made) {
      const { buffer, byteOffset, byteLength } = words.add(fact.oid, sketch);
      store.put([{ ...fact, data: new Uint8Array(buffer, byteOffset, byteLength) }]);
      coverage.add(fact);
      this.#todo.delete(fact.oid);
      onRead(fact.oid);
    }
    this.extracted += made.length;
  }
}

function toWant([oid, { isLocal }]: readonly [Oid, KnownFile]): OwnWant {
  return { oid, lang: '', stage: 1, rank: 0, extractor: SKETCH_VERSION, isLocal };
}

const HEAD_BYTES = 8 * 1024;

interface Words {
  /** Its data is the sketch. */
  fact: Omit<Fact, 'data'>;
  sketch: Sketch;
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, HEAD_BYTES).includes(0);
}

/** Stage 1 of one blob. What is skipped has an empty sketch and says why. */
function wordsOf(oid: Oid, blob: Exclude<BlobBytes, { state: 'gone' }>, builder: SketchBuilder): Words {
  const key = { oid, lang: '', stage: 1, extractor: SKETCH_VERSION } as const;
  const none = new Uint32Array();
  if (blob.state === 'too_large') {
    return { sketch: none, fact: { ...key, status: 'too_large', bytes: blob.size } };
  }
  const { bytes } = blob;
  if (isBinary(bytes)) {
    return { sketch: none, fact: { ...key, status: 'binary', bytes: bytes.length } };
  }
  return { sketch: builder.sketch(bytes), fact: { ...key, status: 'ok', bytes: bytes.length } };
}
