import type { Job, JobStatus } from '../protocol/jobs.ts';
import type { Sqlite } from './driver.ts';

/** A job as it is stored: what everyone may see, and what only the job manager keeps (opaque here). */
export interface JobRecord<R = unknown> {
  job: Job;
  runtime: R;
}

const LIVE_STATUSES: readonly JobStatus[] = ['queued', 'running', 'awaiting_input', 'paused'];
const live = LIVE_STATUSES.map((status) => `'${status}'`).join(', ');

interface JobRow {
  doc: string;
  runtime: string;
}

export class JobTable {
  readonly #insert;
  readonly #update;
  readonly #get;
  readonly #byKey;
  readonly #byPrefix;
  readonly #newest;
  readonly #live;
  readonly #ended;
  readonly #children;
  readonly #queued;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO job (id, key, status, parent_id, doc, runtime) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#update = database.prepare('UPDATE job SET status = ?, ended_seq = ?, doc = ?, runtime = ? WHERE id = ?');
    this.#get = database.prepare('SELECT doc, runtime FROM job WHERE id = ?');
    this.#byKey = database.prepare('SELECT doc, runtime FROM job WHERE key = ?');
    this.#byPrefix = database.prepare('SELECT id FROM job WHERE id >= ? AND id < ? LIMIT 5');
    this.#newest = database.prepare('SELECT id FROM job ORDER BY id DESC LIMIT 1');
    this.#live = database.prepare(`SELECT doc, runtime FROM job WHERE status IN (${live}) ORDER BY id`);
    this.#ended = database.prepare(
      'SELECT doc, runtime FROM job WHERE ended_seq IS NOT NULL ORDER BY ended_seq DESC LIMIT ?',
    );
    this.#queued = database.prepare("SELECT count(*) AS n FROM job WHERE status = 'queued'");
    this.#children = database.prepare('SELECT doc, runtime FROM job WHERE parent_id = ? ORDER BY id');
  }

  insert<R>(record: JobRecord<R>, key?: string): void {
    const { job, runtime } = record;
    const documents = [JSON.stringify(job), JSON.stringify(runtime)] as const;
    this.#insert.run(job.id, key ?? null, job.status, job.parentId ?? null, ...documents);
  }

  /** `endedSeq` is the `seq` of the event that ended it: it orders the list of ended jobs. */
  update<R>(record: JobRecord<R>, endedSeq: number | null): void {
    const { job, runtime } = record;
    this.#update.run(job.status, endedSeq, JSON.stringify(job), JSON.stringify(runtime), job.id);
  }

  get<R>(id: string): JobRecord<R> | undefined {
    return toRecord<R>(this.#get.get(id));
  }

  byKey<R>(key: string): JobRecord<R> | undefined {
    return toRecord<R>(this.#byKey.get(key));
  }

  /** Ids that begin like that: more than one means the prefix is too short. */
  idsByPrefix(prefix: string): string[] {
    const rows = this.#byPrefix.all(prefix, `${prefix}\u{10FFFF}`) as { id: string }[];
    return rows.map((row) => row.id);
  }

  newestId(): string | undefined {
    return (this.#newest.get() as { id: string } | undefined)?.id;
  }

  live<R>(): JobRecord<R>[] {
    return toRecords<R>(this.#live.all());
  }

  queuedCount(): number {
    return (this.#queued.get() as { n: number }).n;
  }

  lastEnded<R>(count: number): JobRecord<R>[] {
    return toRecords<R>(this.#ended.all(count));
  }

  childrenOf<R>(id: string): JobRecord<R>[] {
    return toRecords<R>(this.#children.all(id));
  }
}

function toRecord<R>(row: unknown): JobRecord<R> | undefined {
  if (row === undefined) return undefined;
  const { doc, runtime } = row as JobRow;
  return { job: JSON.parse(doc), runtime: JSON.parse(runtime) };
}

function toRecords<R>(rows: unknown[]): JobRecord<R>[] {
  return rows.map((row) => toRecord<R>(row)).filter((record) => record !== undefined);
}
