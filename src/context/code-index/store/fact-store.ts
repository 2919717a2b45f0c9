import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { systemClock } from '../../../base/clock.ts';
import type { Oid } from '../../../git/ref-name.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Sqlite } from '../../../store/driver.ts';
import { isDamaged, setDatabaseAside } from '../../../store/open-database.ts';
import type { Sketch } from '../words/sketch.ts';
import { Claims } from './claims.ts';
import {
  type Covered,
  type Defined,
  type Fact,
  type FactBody,
  type FactKey,
  FactTable,
  factKey,
  type Stage,
  toDefined,
  toSketch,
} from './fact-table.ts';
import { isUnwritable, openFactDatabase } from './open-database.ts';
import { Registry } from './registry.ts';

export interface Tables {
  facts: FactTable;
  claims: Claims;
  registry: Registry;
}

interface Opened extends Tables {
  database: Sqlite;
  inode: number;
}

const RETRY_MS = 60_000;
const MOST_WRITTEN = 200;
const STAGES = [1, 2] as const;

/**
 * The facts of one repository, shared by the servers of all its worktrees. While the file cannot be used, facts stay in memory and
 * answers continue; the file is tried again each minute. Before each write the store checks that its file was not removed or
 * replaced: what is written to an unlinked file is lost.
 */
export class FactStore {
  readonly file: string;
  readonly #owner = `${process.pid}-${randomUUID()}`;
  /** Facts that are not on disk yet, by their key. */
  readonly #kept = new Map<string, Fact>();
  /** What those define: parsed once, asked for with every name. */
  readonly #defined = new WeakMap<Fact, Defined>();
  #opened: Opened | undefined;
  #generation = 0;
  #failure: unknown;
  #retryAt = 0;

  /** Throws `store_too_new`. After any other failure the store works from memory and tries again later. */
  constructor(file: string) {
    this.file = file;
    this.#use();
  }

  /** Why facts are not on disk, if they are not. */
  get failure(): ReefError | undefined {
    if (this.#failure === undefined) return undefined;
    return new ReefError('store_unavailable', `${this.file} cannot be used.`, { cause: this.#failure });
  }

  #use(): Opened | undefined {
    if (this.#opened || Date.now() < this.#retryAt) return this.#opened;
    try {
      const database = openFactDatabase(this.file);
      this.#opened = {
        database,
        facts: new FactTable(database),
        claims: new Claims(database, this.#owner),
        registry: new Registry(database),
        inode: statSync(this.file).ino,
      };
      this.#generation += 1;
      this.#failure = undefined;
    } catch (error) {
      if (error instanceof ReefError && error.code === 'store_too_new') throw error;
      this.#fail(error);
    }
    return this.#opened;
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#retryAt = Date.now() + RETRY_MS;
  }

  #drop(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
  }

  /** Reads without waiting for a writer. A damaged file is set aside; the answer is then `nothing`, as of an empty store. */
  look<T>(work: (opened: Opened) => T, nothing: T): T {
    const opened = this.#use();
    if (!opened) return nothing;
    try {
      return work(opened);
    } catch (error) {
      this.#handle(error);
      return nothing;
    }
  }

  #handle(error: unknown): void {
    if (isDamaged(error)) {
      this.#drop();
      setDatabaseAside(this.file, systemClock);
      return;
    }
    if (!isUnwritable(error)) throw error;
    this.#fail(error);
  }

  /** Runs the work in a transaction. Undefined if the store cannot be written now. */
  write<T>(work: (tables: Tables) => T): T | undefined {
    if (this.#failure !== undefined && Date.now() < this.#retryAt) return undefined;
    const inode = this.#opened && statSync(this.file, { throwIfNoEntry: false })?.ino;
    if (inode !== this.#opened?.inode) this.#drop();
    const opened = this.#use();
    if (!opened) return undefined;
    try {
      const result = opened.database.transaction(() => work(opened));
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.#handle(error);
      return undefined;
    }
  }

  /** Keeps a fact in memory, where answers find it, until it is flushed. */
  put(fact: Fact): void {
    this.#kept.set(factKey(fact), fact);
  }

  /** Everything that was extracted here is on disk. */
  get isFlushed(): boolean {
    return this.#kept.size === 0;
  }

  /** Writes one transaction of what is in memory. Returns whether more of this stage is left to write. */
  flush(stage: Stage): boolean {
    const wasFailing = this.#failure !== undefined;
    const facts: Fact[] = [];
    for (const fact of this.#kept.values()) if (fact.stage === stage && facts.push(fact) > MOST_WRITTEN) break;
    const isMore = facts.length > MOST_WRITTEN;
    if (isMore) facts.pop();
    const isWritten = facts.length > 0 && this.write((tables) => writeFacts(tables, facts));
    if (!isWritten) return false;
    for (const fact of facts) this.#kept.delete(factKey(fact));
    if (wasFailing) this.#flushAll();
    return isMore;
  }

  #flushAll(): void {
    for (const stage of STAGES) while (this.flush(stage));
  }

  covered(stage: Stage): Covered[] {
    const kept = [...this.#kept.values()].filter((fact) => fact.stage === stage);
    return [
      ...this.look(({ facts }) => facts.covered(stage), []),
      ...kept.map((fact) => ({ ...fact, oids: [fact.oid] })),
    ];
  }

  hasSketches(): boolean {
    return this.#kept.size > 0 || this.look(({ facts }) => facts.hasSketches(), false);
  }

  *sketches(): Generator<{ oid: Oid; sketch: Sketch }> {
    for (const { oid, stage, data } of this.#kept.values()) if (stage === 1) yield { oid, sketch: toSketch(data) };
    yield* this.#pages(0, (facts, after) => facts.sketchesAfter(after));
  }

  /** Rows by ascending id, never all in memory at once. They end when another file takes the place of the store. */
  *#pages<T extends { id: number }>(after: number, page: (facts: FactTable, after: number) => T[]): Generator<T> {
    const { generation } = this;
    for (let last: number | undefined = after; last !== undefined && generation === this.generation; ) {
      const from: number = last;
      const rows = this.look(({ facts }) => page(facts, from), []);
      yield* rows;
      last = rows.at(-1)?.id;
    }
  }

  body(key: FactKey): FactBody | undefined {
    return this.#kept.get(factKey(key)) ?? this.look(({ facts }) => facts.body(key), undefined);
  }

  /** What was added after the fact of this id. Ids belong to one file: a new store starts again. */
  defined(after: number): Generator<Defined & { id: number }> {
    return this.#pages(after, (facts, last) => facts.definedAfter(last));
  }

  /** What the facts define that are not on disk. */
  *definedInMemory(): Generator<Defined> {
    for (const fact of this.#kept.values()) {
      if (fact.summary === undefined) continue;
      const defined = this.#defined.get(fact) ?? toDefined({ ...fact, ...fact.summary });
      this.#defined.set(fact, defined);
      yield defined;
    }
  }

  /** Changes when another file takes the place of the store. */
  get generation(): number {
    this.#use();
    return this.#generation;
  }

  /** Changes when another connection has written. */
  dataVersion(): number {
    return this.#pragma('data_version');
  }

  /** The size of the file, or what it will be once its log is written back. */
  bytes(): number {
    return this.#pragma('page_count') * this.#pragma('page_size');
  }

  /** Unused pages that the file still has. */
  freePages(): number {
    return this.#pragma('freelist_count');
  }

  #pragma(name: string): number {
    return this.look(({ database }) => Number(database.pragma(name)), 0);
  }

  vacuumStep(pages: number): void {
    this.look(({ database }) => database.exec(`PRAGMA incremental_vacuum(${pages})`), undefined);
  }

  close(): void {
    this.#flushAll();
    this.write(({ claims }) => claims.release());
    this.#drop();
  }
}

function writeFacts({ facts: table, claims, registry }: Tables, facts: readonly Fact[]): true {
  for (const fact of facts) {
    table.put(fact);
    claims.done(fact);
  }
  const local = Map.groupBy(facts, ({ localTo }) => localTo);
  for (const [worktree, own] of local)
    if (worktree !== undefined)
      registry.addFresh(
        worktree,
        own.map(({ oid }) => oid),
      );
  return true;
}
