import type { Job, Usage } from '../protocol/jobs.ts';
import type { Sqlite } from './driver.ts';

/** A job as it is stored: what everyone may see, and what only the job manager keeps (opaque here). */
export interface JobRecord<R = unknown> {
  job: Job;
  runtime: R;
}

/** What a job used, without the rest of it: a thousand tasks may be a thousand megabytes. */
export interface JobUsage {
  id: string;
  parentId: string | null;
  /** The run whose block it works on. */
  runId: string | null;
  agent: string;
  /** The one that was asked for. */
  model: string | null;
  createdAt: string;
  usage: Usage;
}

interface Row {
  doc: string;
  runtime: string;
}

export const LIVE = "status IN ('queued', 'running', 'awaiting_input', 'paused')";

const MOST_VERSIONS = 10_000;

export class JobTable {
  readonly #sql: Sqlite['prepare'];
  readonly #versions = new Map<string, number>();
  #writes = 0;
  /** The version of all that were forgotten. */
  #oldest = 0;

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  /** Another one after every write of the job or its events, which are written with it: who knows one need not look again. */
  version(id: string): number {
    return this.#versions.get(id) ?? this.#oldest;
  }

  insert<R>({ job, runtime }: JobRecord<R>, key?: string): void {
    const documents = [JSON.stringify(job), JSON.stringify(runtime)] as const;
    const sql = 'INSERT INTO job (id, key, status, parent_id, doc, runtime) VALUES (?, ?, ?, ?, ?, ?)';
    this.#sql(sql).run(job.id, key ?? null, job.status, job.parentId ?? null, ...documents);
  }

  /** `endedSeq` is the `seq` of the event that ended the job: it orders the list of ended jobs. */
  update<R>({ job, runtime }: JobRecord<R>, endedSeq: number | null): void {
    const sql = 'UPDATE job SET status = ?, ended_seq = ?, doc = ?, runtime = ? WHERE id = ?';
    this.#sql(sql).run(job.status, endedSeq, JSON.stringify(job), JSON.stringify(runtime), job.id);
    this.#writes += 1;
    if (this.#versions.size >= MOST_VERSIONS) {
      this.#versions.clear();
      this.#oldest = this.#writes;
    }
    this.#versions.set(job.id, this.#writes);
  }

  get<R>(id: string): JobRecord<R> | undefined {
    return this.#select<R>('id = ?', id)[0];
  }

  byKey<R>(key: string): JobRecord<R> | undefined {
    return this.#select<R>('key = ?', key)[0];
  }

  /** Ids that begin with `prefix`; more than one means that the prefix is too short. */
  idsByPrefix(prefix: string): string[] {
    const sql = 'SELECT id FROM job WHERE id >= ? AND id < ? LIMIT 5';
    const rows = this.#sql<{ id: string }>(sql).all(prefix, `${prefix}\u{10FFFF}`);
    return rows.map(({ id }) => id);
  }

  newestId(): string | undefined {
    return this.#sql<{ id: string }>('SELECT id FROM job ORDER BY id DESC LIMIT 1').get()?.id;
  }

  /** The newest job that has worked in this worktree. */
  newestIn(worktreeId: string): string | undefined {
    const sql = `SELECT id FROM job WHERE doc ->> '$.worktree' = ? ORDER BY id DESC LIMIT 1`;
    return this.#sql<{ id: string }>(sql).get(worktreeId)?.id;
  }

  /** Jobs that neither another job nor a run started, newest first. */
  roots<R>(count: number): JobRecord<R>[] {
    const isOfRun = 'EXISTS (SELECT 1 FROM block_job WHERE job_id = job.id)';
    return this.#select<R>(`parent_id IS NULL AND NOT ${isOfRun} ORDER BY id DESC LIMIT ?`, count);
  }

  live<R>(): JobRecord<R>[] {
    return this.#select<R>(`${LIVE} ORDER BY id`);
  }

  queuedCount(): number {
    return this.#sql<{ n: number }>("SELECT count(*) AS n FROM job WHERE status = 'queued'").get()?.n ?? 0;
  }

  /** How many there are of each status. */
  counts(): Record<string, number> {
    const rows = this.#sql<{ status: string; n: number }>(
      'SELECT status, count(*) AS n FROM job GROUP BY status',
    ).all();
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  }

  /** Newest first, as `lastEnded`. */
  lastEndedIds(count: number): string[] {
    const sql = 'SELECT id FROM job WHERE ended_seq IS NOT NULL ORDER BY ended_seq DESC LIMIT ?';
    return this.#sql<{ id: string }>(sql)
      .all(count)
      .map(({ id }) => id);
  }

  lastEnded<R>(count: number): JobRecord<R>[] {
    return this.#select<R>('ended_seq IS NOT NULL ORDER BY ended_seq DESC LIMIT ?', count);
  }

  /** Of every job, oldest first; also of those that are no longer kept. */
  usages(): JobUsage[] {
    const sql = `SELECT id, parent_id AS parentId, run_id AS runId, doc ->> '$.agent' AS agent, doc ->> '$.model' AS model,
      doc ->> '$.createdAt' AS createdAt, doc -> '$.usage' AS usage FROM job LEFT JOIN block_job ON job_id = id
      UNION ALL SELECT id, parent_id, run_id, agent, model, created_at, usage FROM past_usage WHERE id NOT IN (SELECT id FROM job)
      ORDER BY id`;
    const rows = this.#sql<Omit<JobUsage, 'usage'> & { usage: string }>(sql).all();
    return rows.map((row) => ({ ...row, usage: JSON.parse(row.usage) }));
  }

  childrenOf<R>(id: string): JobRecord<R>[] {
    return this.#select<R>('parent_id = ? ORDER BY id', id);
  }

  /** Whether a job in a sandbox has ever worked in this worktree. */
  anySandboxed(worktreeId: string): boolean {
    const sql = `SELECT 1 FROM job WHERE doc ->> '$.worktree' = ? AND doc ->> '$.sandbox' = 'bubblewrap' LIMIT 1`;
    return this.#sql(sql).get(worktreeId) !== undefined;
  }

  anyIn(worktreeId: string): boolean {
    return this.#sql(`SELECT 1 FROM job WHERE doc ->> '$.worktree' = ? LIMIT 1`).get(worktreeId) !== undefined;
  }

  #select<R>(where: string, ...values: (string | number)[]): JobRecord<R>[] {
    const rows = this.#sql<Row>(`SELECT doc, runtime FROM job WHERE ${where}`).all(...values);
    return rows.map(({ doc, runtime }) => ({ job: JSON.parse(doc), runtime: JSON.parse(runtime) }));
  }
}
