import type { Sqlite } from './driver.ts';
import { LIVE } from './job-table.ts';

/** A run that is over with its jobs, or a job that nobody else started with those below it. */
export interface EndedTask {
  id: string;
  kind: 'run' | 'job';
  /** The beginning of what was asked for. */
  task: string;
  /** When the last of it ended. */
  endedAt: string;
  jobs: string[];
}

interface Root {
  id: string;
  kind: EndedTask['kind'];
  task: string | null;
}

interface JobOfTree {
  id: string;
  endedAt: string | null;
  isNeeded: 0 | 1;
}

const IN_OPEN_WORKTREE = "EXISTS (SELECT 1 FROM worktree w WHERE w.open = 1 AND w.id = job.doc ->> '$.worktree')";
const IN_OPEN_RUN = `EXISTS (SELECT 1 FROM block_job JOIN run ON run.id = run_id WHERE job_id = job.id AND state != 'over')`;
const PAGE = 500;

/** What of the past may go, and how it goes. Use it inside a transaction of the store, but for `release`. */
export class RetentionTable {
  readonly #database: Sqlite;
  readonly #sql: Sqlite['prepare'];

  constructor(database: Sqlite) {
    this.#database = database;
    this.#sql = database.prepare;
  }

  /** In the order they were made. Ids begin with the time. */
  roots(after: string, limit: number): Root[] {
    const sql = `SELECT id, 'run' AS kind, substr(doc ->> '$.task', 1, 200) AS task FROM run WHERE state = 'over' AND id > ?
      UNION ALL SELECT id, 'job', substr(doc ->> '$.task', 1, 200) FROM job WHERE id > ? AND NOT ${LIVE}
        AND NOT EXISTS (SELECT 1 FROM block_job WHERE job_id = job.id)
        AND NOT EXISTS (SELECT 1 FROM job above WHERE above.id = job.parent_id)
      ORDER BY id LIMIT ?`;
    return this.#sql<Root>(sql).all(after, after, limit);
  }

  /** Undefined while something in it is at work, or its worktree is neither merged nor discarded. */
  ended({ id, kind, task }: Root): EndedTask | undefined {
    const jobs = this.#treeOf(id);
    if (jobs.some((job) => job.isNeeded === 1 || job.endedAt === null)) return undefined;
    const run = kind === 'run' ? this.#runOf(id) : undefined;
    if (run?.isNeeded === 1) return undefined;
    const ends = [run?.endedAt ?? '', ...jobs.map(({ endedAt }) => endedAt ?? '')].sort();
    return { id, kind, task: task ?? '', endedAt: ends.at(-1) ?? '', jobs: jobs.map((job) => job.id) };
  }

  #treeOf(id: string): JobOfTree[] {
    const sql = `WITH RECURSIVE tree(id) AS (SELECT ? UNION SELECT job_id FROM block_job WHERE run_id = ?
        UNION SELECT job.id FROM tree JOIN job ON job.parent_id = tree.id)
      SELECT job.id, doc ->> '$.endedAt' AS endedAt, ${LIVE} OR ${IN_OPEN_WORKTREE} OR ${IN_OPEN_RUN} AS isNeeded
      FROM tree JOIN job ON job.id = tree.id ORDER BY job.id`;
    return this.#sql<JobOfTree>(sql).all(id, id);
  }

  #runOf(id: string): { endedAt: string | null; isNeeded: 0 | 1 } | undefined {
    const sql = `SELECT (SELECT at FROM journal WHERE run_id = run.id ORDER BY n DESC LIMIT 1) AS endedAt,
      EXISTS (SELECT 1 FROM worktree w WHERE w.id = run.worktree_id AND w.open = 1) AS isNeeded FROM run WHERE id = ?`;
    return this.#sql<{ endedAt: string | null; isNeeded: 0 | 1 }>(sql).get(id);
  }

  /** How much the events of a job take, a page at a time: each call reads on after the `seq` that the last one returned. */
  eventBytes(jobId: string, after: number): { bytes: number; last: number | undefined } {
    const sql = `SELECT coalesce(sum(length(payload)), 0) AS bytes, max(seq) AS last FROM
      (SELECT seq, payload FROM event WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ${PAGE})`;
    const { bytes = 0, last } = this.#sql<{ bytes: number; last: number | null }>(sql).get(jobId, after) ?? {};
    return { bytes, last: last ?? undefined };
  }

  /** What a job used is a line that stays when the rest goes. `model`: the one its agent named. */
  keepUsage(jobId: string, model: string | undefined): void {
    this.#sql(
      `INSERT OR IGNORE INTO past_usage (id, parent_id, run_id, agent, model, created_at, usage)
       SELECT id, parent_id, run_id, doc ->> '$.agent', coalesce(doc ->> '$.model', ?), doc ->> '$.createdAt', doc -> '$.usage'
       FROM job LEFT JOIN block_job ON job_id = id WHERE id = ?`,
    ).run(model ?? null, jobId);
  }

  /** Some events of a job. The newest of all stays, for numbers never begin again. False when none was left. */
  removeEvents(jobId: string): boolean {
    const sql = `DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE job_id = ? AND seq < (SELECT max(seq) FROM event)
      ORDER BY seq LIMIT ${PAGE})`;
    const { changes } = this.#sql(sql).run(jobId);
    this.#sql('DELETE FROM moment WHERE seq < (SELECT min(seq) FROM event)').run();
    return changes > 0;
  }

  /** Everything but the events. What its journal keeps beside it is retired: it goes when no other journal names it. */
  removeTask({ id, kind, jobs }: EndedTask, at: string): void {
    for (const jobId of jobs) {
      for (const table of ['question', 'outbox', 'allowed', 'block_job']) {
        this.#sql(`DELETE FROM ${table} WHERE job_id = ?`).run(jobId);
      }
      this.#sql('DELETE FROM job WHERE id = ?').run(jobId);
    }
    if (kind === 'run') this.#removeRun(id, at);
  }

  #removeRun(id: string, at: string): void {
    const retire = this.#sql('INSERT OR REPLACE INTO retired (id, at) VALUES (?, ?)');
    for (const { data } of this.#sql<{ data: string }>('SELECT data FROM journal WHERE run_id = ?').all(id)) {
      for (const address of data.match(/\b[0-9a-f]{64}\b/g) ?? []) retire.run(address, at);
    }
    retire.run(id, at);
    for (const table of ['journal', 'journal_attempt', 'gate_verdict']) {
      this.#sql(`DELETE FROM ${table} WHERE run_id = ?`).run(id);
    }
    this.#sql('DELETE FROM run WHERE id = ?').run(id);
    this.#sql('DELETE FROM retired WHERE id = ?').run(id);
  }

  /** Retired before that time: a journal that was about to name one of them has done so since. */
  retired(before: string): string[] {
    const rows = this.#sql<{ id: string }>('SELECT id FROM retired WHERE at < ?').all(before);
    return rows.map(({ id }) => id);
  }

  removeBlob(address: string): void {
    const isNamed = this.#sql('SELECT 1 FROM journal WHERE instr(data, ?) LIMIT 1').get(address) !== undefined;
    if (!isNamed) this.#sql('DELETE FROM journal_blob WHERE address = ?').run(address);
    this.#sql('DELETE FROM retired WHERE id = ?').run(address);
  }

  /** Of what is one line for each job, call or worktree, some of those older than that. False when none was. */
  removeLines(before: string): boolean {
    const oldest = (table: string, key: string, at: string, where = '1') =>
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM
        (SELECT ${key}, ${at} AS at FROM ${table} WHERE ${where} ORDER BY ${key} LIMIT ${PAGE}) WHERE at < ?)`;
    const removed = [
      oldest('audit', 'seq', 'at'),
      oldest('past_usage', 'id', 'created_at'),
      oldest('worktree', 'n', "doc ->> '$.createdAt'", 'open = 0'),
    ].map((sql) => this.#sql(sql).run(before).changes);
    return removed.some((changes) => changes > 0);
  }

  /** Without the pages that are free. */
  usedBytes(): number {
    return (this.#number('page_count') - this.#number('freelist_count')) * this.#number('page_size');
  }

  /** Gives some free pages back to the disk. False when there was none, or the file is of an older Reef and keeps them. */
  release(): boolean {
    const before = this.#number('freelist_count');
    if (before > 0) this.#database.exec(`PRAGMA incremental_vacuum(${PAGE})`);
    return this.#number('freelist_count') < before;
  }

  #number(pragma: string): number {
    return Number(this.#database.pragma(pragma));
  }
}
