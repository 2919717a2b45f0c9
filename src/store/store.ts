import { ReefError } from '../protocol/errors.ts';
import { AuditTable } from './audit-table.ts';
import { BlockTable } from './block-table.ts';
import { Changes } from './changes.ts';
import { openSqlite, type Sqlite, sqliteCode } from './driver.ts';
import { EventTable } from './event-table.ts';
import { GrantTable } from './grant-table.ts';
import { JobTable } from './job-table.ts';
import { JournalTable } from './journal-table.ts';
import { migrate } from './migrations.ts';
import { OutboxTable } from './outbox-table.ts';
import { QuestionTable } from './question-table.ts';
import { RetentionTable } from './retention-table.ts';
import { RunTable } from './run-table.ts';
import { VerdictTable } from './verdict-table.ts';
import { WorktreeTable } from './worktree-table.ts';

/** The truth of a home. What belongs together is written in one transaction, or not at all. */
export class Store {
  readonly changes = new Changes();
  readonly events: EventTable;
  readonly jobs: JobTable;
  readonly questions: QuestionTable;
  readonly outbox: OutboxTable;
  readonly grants: GrantTable;
  readonly audit: AuditTable;
  readonly journal: JournalTable;
  readonly worktrees: WorktreeTable;
  readonly runs: RunTable;
  readonly blocks: BlockTable;
  readonly verdicts: VerdictTable;
  readonly retention: RetentionTable;
  readonly #database: Sqlite;
  #isUnsynced = false;
  #synchronous = '';

  constructor(path: string) {
    this.#database = openSqlite(path);
    try {
      // Of an older file nothing is given back to the disk: what is free in it is used again.
      if (this.#database.pragma('page_count') === 0) this.#database.pragma('auto_vacuum = INCREMENTAL');
      this.#database.pragma('journal_mode = WAL');
      migrate(this.#database);
      this.events = new EventTable(this.#database);
      this.jobs = new JobTable(this.#database);
      this.questions = new QuestionTable(this.#database, this.changes);
      this.outbox = new OutboxTable(this.#database);
      this.grants = new GrantTable(this.#database);
      this.audit = new AuditTable(this.#database);
      this.journal = new JournalTable(this.#database, this.changes);
      this.worktrees = new WorktreeTable(this.#database, this.changes);
      this.runs = new RunTable(this.#database, this.changes);
      this.blocks = new BlockTable(this.#database);
      this.verdicts = new VerdictTable(this.#database);
      this.retention = new RetentionTable(this.#database);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** For whatever acknowledges a command: it is on the disk, not only in the page cache, before this returns. */
  commit<T>(work: () => T): T {
    return this.#transact('FULL', work);
  }

  /** For ingested output, which can be parsed again from the raw file: `sync` makes it durable a moment later. */
  record<T>(work: () => T): T {
    this.#isUnsynced = true;
    return this.#transact('NORMAL', work);
  }

  /** A durable transaction syncs the log, and with it every one recorded before. */
  sync(): void {
    if (!this.#isUnsynced) return;
    // Any write does; this one changes nothing.
    this.commit(() => this.#database.pragma(`application_id = ${Number.parseInt(this.events.logId, 16)}`));
    this.#isUnsynced = false;
  }

  close(): void {
    this.#database.close();
  }

  #transact<T>(synchronous: 'FULL' | 'NORMAL', work: () => T): T {
    try {
      if (this.#synchronous !== synchronous) this.#database.pragma(`synchronous = ${synchronous}`);
      this.#synchronous = synchronous;
      return this.#database.transaction(work);
    } catch (error) {
      this.events.rewind();
      throw sqliteCode(error) === '' ? error : unavailable(error as Error);
    }
  }
}

function unavailable(cause: Error): ReefError {
  const why = `${sqliteCode(cause)}: ${cause.message}`;
  return new ReefError('storage_unavailable', `the database cannot be written (${why})`, { cause });
}
