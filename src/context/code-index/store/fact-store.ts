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
  type FactKey,
  type FactStatus,
  FactTable,
  type Stage,
  toDefined,
  toSketch,
} from './fact-table.ts';
import { isUnwritable, openFactDatabase } from './open-database.ts';
import { Registry } from './registry.ts';

interface Opened {
  database: Sqlite;
  facts: FactTable;
  claims: Claims;
  registry: Registry;
  inode: number;
}

export interface StoredBody {
  extractor: string;
  status: FactStatus;
  data: Uint8Array;
}

const RETRY_MS = 60_000;
/** So many facts in one transaction. */
const MOST_WRITTEN = 200;
const STAGES = [1, 2] as const;

/**
 * The facts of one repository, shared by the servers of all its worktrees. While the file cannot be used, facts are kept in
 * memory and answers go on; it is tried again each minute. A file that was removed or replaced under us is noticed before
 * each write: what is written into an unlinked file is lost.
 */
export class FactStore {
  readonly file: string;
  readonly #owner = `${process.pid}-${randomUUID()}`;
  readonly #retryMs: number;
  /** What is not on disk yet. */
  readonly #kept = new Map<string, Fact>();
  /** What those define: read once, asked for with every name. */
  readonly #defined = new WeakMap<Fact, Defined>();
  #opened: Opened | undefined;
  #generation = 0;
  #failure: unknown;
  #retryAt = 0;

  /** Throws `store_too_new`; any other failure is a state to pass. */
  constructor(file: string, { retryMs = RETRY_MS }: { retryMs?: number } = {}) {
    this.file = file;
    this.#retryMs = retryMs;
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
    this.#retryAt = Date.now() + this.#retryMs;
  }

  #drop(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
  }

  /** A read never waits for a writer. What is damaged is set aside; the answer is then as of an empty store. */
  #read<T>(look: (opened: Opened) => T, nothing: T): T {
    const opened = this.#use();
    if (!opened) return nothing;
    try {
      return look(opened);
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

  /** Undefined if the store cannot be written now. */
  write<T>(work: (opened: Pick<Opened, 'facts' | 'claims' | 'registry'>) => T): T | undefined {
    if (this.#failure !== undefined && Date.now() < this.#retryAt) return undefined;
    this.#reopenIfReplaced();
    const opened = this.#use();
    if (!opened) return undefined;
    try {
      opened.database.exec('BEGIN IMMEDIATE');
      const result = work(opened);
      opened.database.exec('COMMIT');
      this.#failure = undefined;
      return result;
    } catch (error) {
      this.#rollBack(opened);
      this.#handle(error);
      return undefined;
    }
  }

  #rollBack({ database }: Opened): void {
    try {
      database.exec('ROLLBACK');
    } catch {
      // SQLite has done so already
    }
  }

  #reopenIfReplaced(): void {
    if (!this.#opened) return;
    const inode = statSync(this.file, { throwIfNoEntry: false })?.ino;
    if (inode !== this.#opened.inode) this.#drop();
  }

  /** In memory until it is flushed, where answers find it as well. */
  put(facts: readonly Fact[]): void {
    for (const fact of facts) this.#kept.set(keyOf(fact), fact);
  }

  /** Writes one transaction of what is in memory. Tells whether there is more of this stage to write. */
  flush(stage: Stage): boolean {
    const wasFailing = this.#failure !== undefined;
    const facts = this.#firstKept(stage, MOST_WRITTEN + 1);
    const isMore = facts.length > MOST_WRITTEN;
    if (isMore) facts.pop();
    if (facts.length === 0 || !this.#writeFacts(facts)) return false;
    for (const fact of facts) this.#kept.delete(keyOf(fact));
    if (wasFailing) this.#flushAll();
    return isMore;
  }

  #firstKept(stage: Stage, most: number): Fact[] {
    const facts: Fact[] = [];
    for (const fact of this.#kept.values()) if (fact.stage === stage && facts.push(fact) === most) break;
    return facts;
  }

  #flushAll(): void {
    for (const stage of STAGES) while (this.flush(stage));
  }

  #writeFacts(facts: readonly Fact[]): boolean {
    const isWritten = this.write(({ facts: table, claims }) => {
      table.put(facts);
      for (const fact of facts) claims.done(fact);
      return true;
    });
    return isWritten ?? false;
  }

  covered(stage: Stage): Covered[] {
    const kept = [...this.#kept.values()].filter((fact) => fact.stage === stage);
    return [
      ...this.#read(({ facts }) => facts.covered(stage), []),
      ...kept.map((fact) => ({ ...fact, oids: [fact.oid] })),
    ];
  }

  hasSketches(): boolean {
    return this.#kept.size > 0 || this.#read(({ facts }) => facts.hasSketches(), false);
  }

  sketchBytes(): number {
    return this.#read(({ facts }) => facts.sketchBytes(), 0);
  }

  *sketches(): Generator<{ oid: Oid; sketch: Sketch }> {
    for (const { oid, stage, data } of this.#kept.values()) if (stage === 1) yield { oid, sketch: toSketch(data) };
    yield* this.#pages(0, (facts, after) => facts.sketchesAfter(after));
  }

  /** Rows in the order of their numbers, never all in memory at once. When another file takes the place of the store, they end. */
  *#pages<T extends { id: number }>(after: number, page: (facts: FactTable, after: number) => T[]): Generator<T> {
    const { generation } = this;
    for (let last: number | undefined = after; last !== undefined && generation === this.generation; ) {
      const from: number = last;
      const rows = this.#read(({ facts }) => page(facts, from), []);
      yield* rows;
      last = rows.at(-1)?.id;
    }
  }

  body(key: FactKey): StoredBody | undefined {
    return this.#kept.get(keyOf(key)) ?? this.#read(({ facts }) => facts.body(key), undefined);
  }

  /** What was added after the fact of this number; numbers are those of one store, and begin anew with another. */
  defined(after: number): Generator<Defined & { id: number }> {
    return this.#pages(after, (facts, last) => facts.definedAfter(last));
  }

  /** Of the facts that are not on disk. */
  *definedInMemory(): Generator<Defined> {
    for (const fact of this.#kept.values()) {
      if (fact.summary === undefined) continue;
      const defined = this.#defined.get(fact) ?? toDefined({ ...fact, ...fact.summary });
      this.#defined.set(fact, defined);
      yield defined;
    }
  }

  /** Moves when another file takes the place of the store. */
  get generation(): number {
    this.#use();
    return this.#generation;
  }

  look<T>(work: (opened: Pick<Opened, 'facts' | 'claims' | 'registry'>) => T, nothing: T): T {
    return this.#read(work, nothing);
  }

  /** Moves when another connection has written. */
  dataVersion(): number {
    return this.#read(({ database }) => Number(database.pragma('data_version')), 0);
  }

  /** What the file takes, or will once its log is written back. */
  bytes(): number {
    return this.#read(
      ({ database }) => Number(database.pragma('page_count')) * Number(database.pragma('page_size')),
      0,
    );
  }

  /** Pages nothing uses any more, which the file still has. */
  freePages(): number {
    return this.#read(({ database }) => Number(database.pragma('freelist_count')), 0);
  }

  vacuumStep(pages: number): void {
    this.#read(({ database }) => database.exec(`PRAGMA incremental_vacuum(${pages})`), undefined);
  }

  close(): void {
    this.#flushAll();
    this.write(({ claims }) => claims.release());
    this.#drop();
  }
}

function keyOf({ oid, lang, stage }: FactKey): string {
  return `${stage} ${lang} ${oid}`;
}
