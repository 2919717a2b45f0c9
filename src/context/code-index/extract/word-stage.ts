import { setImmediate as breathe } from 'node:timers/promises';
import type { Oid } from '../../../git/ref-name.ts';
import type { Want } from '../store/claims.ts';
import type { FactStore } from '../store/fact-store.ts';
import { Scratch } from '../tree/read-file.ts';
import type { WorktreeTree } from '../tree/worktree-tree.ts';
import { SKETCH_VERSION, SketchBuilder } from '../words/sketch.ts';
import type { WordIndex } from '../words/word-index.ts';
import type { BlobBytes, BlobSource } from './blob-source.ts';
import type { Coverage } from './coverage.ts';
import { type Words, wordsOf } from './words-of.ts';

interface Parts {
  tree: WorktreeTree;
  store: FactStore;
  words: WordIndex;
  coverage: Coverage;
  source: BlobSource;
}

/** C-023: so long a transaction, or so many facts. */
const BATCH = 200;
const SLICE_MS = 40;

export type Round = 'worked' | 'waiting' | 'nothing';

/** Stage 1: a sketch for every blob of the map. */
export class WordStage {
  readonly #parts: Parts;
  readonly #builder = new SketchBuilder();
  readonly #scratch = new Scratch();
  /** What is missing, and one path that has it. */
  #todo = new Map<Oid, { path: string; isLocal: boolean }>();
  #planned = -1;
  #claimed: Want[] = [];
  #isLeading = false;
  /** Sketches made by this server. */
  extracted = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
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
    const { tree, coverage, store } = this.#parts;
    if (this.#planned === tree.version) return;
    const changed = tree.changedSince(this.#planned);
    this.#planned = tree.version;
    if (!changed) this.#todo = new Map();
    for (const { path, oid, isLocal } of changed ?? tree.files.values()) {
      if (coverage.words(oid) !== undefined) continue;
      const known = this.#todo.get(oid);
      if (!known || (known.isLocal && !isLocal)) this.#todo.set(oid, { path, isLocal });
    }
    const shared = [...this.#todo].filter(([, { isLocal }]) => !isLocal);
    const wants = shared.map(([oid]): Want => ({ oid, lang: '', stage: 1, rank: 0, extractor: SKETCH_VERSION }));
    if (wants.length > 0) store.write(({ claims }) => claims.want(wants));
  }

  /** One batch. `waiting`: what is missing, another server is about to give. */
  async round(): Promise<Round> {
    this.#plan();
    const batch = this.#nextBatch();
    if (batch === undefined) return this.#todo.size > 0 ? 'waiting' : 'nothing';
    await this.#extract(batch);
    await breathe(); // questions come in between
    return 'worked';
  }

  #nextBatch(): Oid[] | undefined {
    const { store } = this.#parts;
    if (this.#claimed.length > 0) return this.#ownClaims();
    if (this.#todo.size === 0 && !this.#isLeading) return undefined; // most questions: nothing is written for them
    if (store.failure !== undefined) return this.#todo.size > 0 ? this.#first(() => true) : undefined;
    const local = this.#first(({ isLocal }) => isLocal);
    const mine = store.write(({ claims }) => {
      const own = local.filter((oid) => {
        return claims.claim({ oid, lang: '', stage: 1, extractor: SKETCH_VERSION }, true) === 'mine';
      });
      if (own.length > 0) return own;
      this.#isLeading = claims.lead();
      if (this.#isLeading) this.#claimed = claims.take(1, BATCH);
      if (this.#claimed.length > 0) return undefined;
      this.#isLeading = false;
      claims.follow();
      return undefined;
    });
    return mine ?? this.#ownClaims();
  }

  #first(isWanted: (place: { isLocal: boolean }) => boolean): Oid[] {
    const oids: Oid[] = [];
    for (const [oid, place] of this.#todo) {
      if (oids.length === BATCH) break;
      if (isWanted(place)) oids.push(oid);
    }
    return oids;
  }

  #ownClaims(): Oid[] | undefined {
    const batch = this.#claimed.map(({ oid }) => oid);
    return batch.length > 0 ? batch : undefined;
  }

  /** As many as fit into the slice; the rest is the next round's. */
  async #extract(batch: readonly Oid[]): Promise<void> {
    const end = performance.now() + SLICE_MS;
    const made: Words[] = [];
    const elsewhere: Oid[] = [];
    let at = 0;
    for (; at < batch.length && performance.now() < end; at++) {
      const oid = batch[at] as Oid;
      const place = this.#todo.get(oid);
      const blob = place && this.#parts.source.fromFile(oid, place.path, this.#scratch);
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
    const found = await this.#parts.source.fromGit(oids);
    for (const oid of oids) {
      const blob: BlobBytes = found.get(oid) ?? { state: 'gone' };
      if (blob.state !== 'gone') made.push(wordsOf(oid, blob, this.#builder));
      else this.#giveUp(oid);
    }
  }

  /** The file changed since it was looked at and git never had it: the next sweep finds what it is now. */
  #giveUp(oid: Oid): void {
    this.#todo.delete(oid);
    this.#parts.store.write(({ claims }) => claims.done({ oid, lang: '', stage: 1 }));
  }

  #keep(made: readonly Words[]): void {
    const { store, words, coverage } = this.#parts;
    store.put(made.map(({ fact }) => fact));
    for (const { fact, sketch } of made) {
      words.add(fact.oid, sketch);
      coverage.add(fact);
      this.#todo.delete(fact.oid);
    }
    this.extracted += made.length;
  }
}
