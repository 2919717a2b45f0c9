import type { Clock } from '../../base/clock.ts';
import { identify } from '../../process/identity.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { endOf, type RunEnd, type RunRow } from '../../workflow/durable/durable-engine.ts';
import type { EntryData } from '../../workflow/durable/journal.ts';
import type { Database, Queries } from '../database/database.ts';

/** Who lands something: an epoch that is over lands nothing. */
export interface HostIdentity {
  host: string;
  epoch: number;
}

interface RecordDeps {
  database: Database;
  repository: string;
  clock: Clock;
  self(): HostIdentity;
  /** On which a run works here. */
  branchOf?(run: string): string | undefined;
}

interface AnswerRow {
  id: string;
  value: { answerId?: string; isOver?: 'timeout'; value?: Json };
  delivered_at: Date | null;
}

const PAGE = 100;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;

/** What the schema `reef` says of the runs of one repository. */
export class RunRecords {
  readonly #deps: RecordDeps;

  constructor(deps: RecordDeps) {
    this.#deps = deps;
  }

  /** The row of a run that was not queued before, as when it is started on this host. */
  async begin(run: string): Promise<void> {
    const { host, epoch } = this.#deps.self();
    await this.#fenced((q) =>
      q.query(
        `INSERT INTO reef.run (id, repository, task, status, by, host, last_host, epoch, known, started_at)
           VALUES ($1, $2, '', 'running', '', $3, $3, $4, true, now())
           ON CONFLICT (id) DO UPDATE SET known = true, started_at = coalesce(reef.run.started_at, now())
           WHERE NOT reef.run.known`,
        [run, this.#deps.repository, host, epoch],
      ),
    );
  }

  /** DBOS does not have it after all: whoever has the run begins it again. */
  async forget(run: string): Promise<void> {
    await this.#fenced((q) => q.query('UPDATE reef.run SET known = false WHERE id = $1', [run]));
  }

  async status(run: string): Promise<{ status: string; outcome: EntryData | null } | undefined> {
    const sql = 'SELECT status, outcome FROM reef.run WHERE id = $1';
    const [row] = await this.#deps.database.query<{ status: string; outcome: EntryData | null }>(sql, [run]);
    return row;
  }

  /** Where it goes on elsewhere its end is not for this host: `worktree` is the one in which it works here. */
  async end(run: string, worktree?: string): Promise<RunEnd | undefined> {
    const sql = 'SELECT status, outcome, place, moving IS NOT NULL AS moves FROM reef.run WHERE id = $1';
    type Row = { status: string; outcome: EntryData | null; place: string | null; moves: boolean };
    const [row] = await this.#deps.database.query<Row>(sql, [run]);
    const isOver = row?.status === 'ended' || row?.status === 'cancelled';
    if (!row || !isOver || (row.moves && row.place !== `${this.#deps.self().host}/${worktree}`)) return undefined;
    return endOf(row.outcome ?? {});
  }

  /** The first end is the end. A cancel comes from a person and needs no epoch. */
  async close(run: string, outcome: EntryData): Promise<EntryData> {
    const isCancel = outcome.status === 'cancelled';
    const close = async (q: Queries) => {
      const [row] = await q.query<{ status: string; outcome: EntryData }>(
        'SELECT status, outcome FROM reef.run WHERE id = $1 FOR UPDATE',
        [run],
      );
      if (row?.status === 'ended' || row?.status === 'cancelled') return row.outcome;
      const status = isCancel ? 'cancelled' : 'ended';
      await q.query('UPDATE reef.run SET status = $2, outcome = $3, ended_at = now() WHERE id = $1', [
        run,
        status,
        JSON.stringify(outcome),
      ]);
      // Whoever walks it ends it; an end frees a slot.
      await q.query("SELECT pg_notify('reef', json_build_object('kind', 'run', 'id', $1::text)::text)", [run]);
      return outcome;
    };
    return isCancel ? this.#deps.database.transaction(close) : this.#fenced(close);
  }

  /** It gives its slot back. False when it is this host's no more. */
  async park(run: string): Promise<boolean> {
    const { host } = this.#deps.self();
    return this.#fenced(async (q) => {
      const rows = await q.query(
        `UPDATE reef.run SET status = 'parked', host = NULL, epoch = NULL WHERE id = $1 AND host = $2
           AND status IN ('running', 'halted') RETURNING id`,
        [run, host],
      );
      return rows.length > 0;
    });
  }

  /** Which of these were cancelled, wherever, with the reason. */
  async cancelled(runs: string[]): Promise<{ id: string; reason: string }[]> {
    const sql = "SELECT id, outcome->>'value' AS reason FROM reef.run WHERE id = ANY($1) AND status = 'cancelled'";
    return runs.length === 0 ? [] : this.#deps.database.query<{ id: string; reason: string }>(sql, [runs]);
  }

  /** Those that this host works on where `worktreeOf` says, in the order of their ids. */
  async mine(worktreeOf: (run: string) => string | undefined): Promise<string[]> {
    const { host } = this.#deps.self();
    const rows = await this.#deps.database.query<{ id: string; place: string | null; moves: boolean }>(
      `SELECT id, place, moving IS NOT NULL AS moves FROM reef.run
       WHERE repository = $1 AND host = $2 AND known AND status IN ('running', 'halted') ORDER BY id`,
      [this.#deps.repository, host],
    );
    const isHere = (id: string, place: string | null) => place === `${host}/${worktreeOf(id)}`;
    return rows.flatMap(({ id, place, moves }) => (moves && !isHere(id, place) ? [] : [id]));
  }

  async list(status: RunRow['status'] | undefined, after: string): Promise<{ runs: RunRow[]; next?: string }> {
    const rows = await this.#deps.database.query<{ id: string; status: RunRow['status']; at: Date }>(
      `SELECT id, at, status FROM (SELECT id, coalesce(started_at, queued_at) AS at,
         CASE status WHEN 'ended' THEN outcome->>'status' WHEN 'cancelled' THEN 'cancelled' ELSE 'running' END AS status
       FROM reef.run WHERE repository = $1 AND known AND id COLLATE "C" > $2) AS r
       WHERE $3::text IS NULL OR status = $3 ORDER BY id COLLATE "C" LIMIT $4`,
      [this.#deps.repository, after, status ?? null, PAGE + 1],
    );
    const runs = rows.map((row) => ({ runId: row.id, status: row.status, startedAt: row.at.toISOString() }));
    const next = runs.length > PAGE ? runs[PAGE - 1]?.runId : undefined;
    return { runs: runs.slice(0, PAGE), ...(next !== undefined && { next }) };
  }

  /** Before a block starts. The number of the attempt, counted over all hosts. */
  async beginAttempt(run: string, key: string): Promise<number> {
    const { host, epoch } = this.#deps.self();
    const self = identify(process.pid);
    const [row] = await this.#fenced((q) =>
      q.query<{ attempt: number }>(
        `INSERT INTO reef.attempt (run, key, attempt, host, epoch, pid, start_time, boot_id, branch)
         SELECT $1, $2, coalesce(max(attempt), 0) + 1, $3, $4, $5, $6, $7, $8 FROM reef.attempt
         WHERE run = $1 AND key = $2 RETURNING attempt`,
        [
          ...[run, key, host, epoch, self?.pid ?? process.pid, self?.startTime ?? null, self?.bootId ?? null],
          this.#deps.branchOf?.(run) ?? null,
        ],
      ),
    );
    return row?.attempt ?? 1;
  }

  async endAttempt(run: string, key: string, attempt: number): Promise<void> {
    // It got on: what its former hosts died of was not this.
    const sql = `WITH ended AS (
        UPDATE reef.attempt SET ended_at = now() WHERE run = $1 AND key = $2 AND attempt = $3 AND ended_at IS NULL RETURNING run)
      UPDATE reef.run SET lost_count = 0 WHERE id IN (SELECT run FROM ended) AND lost_count > 0`;
    await this.#deps.database.query(sql, [run, key, attempt]);
  }

  /** Stored before it is acknowledged. The first answer to a key wins. */
  async answer(run: string, key: string, id: string, said: EntryData): Promise<'taken' | 'duplicate' | 'late'> {
    return this.#deps.database.transaction(async (q) => {
      const [row] = await q.query<{ status: string }>('SELECT status FROM reef.run WHERE id = $1 FOR UPDATE', [run]);
      if (!row) throw new ReefError('run_not_found', `There is no run ${run}.`, { details: { runId: run } });
      const before = await answerOf(q, run, key);
      if (before) return idOf(before) === id ? 'duplicate' : 'late';
      if (row.status === 'ended' || row.status === 'cancelled') return 'late';
      await q.query('INSERT INTO reef.answer (id, question, run, key, value, by) VALUES ($1, $2, $3, $4, $5, $6)', [
        `${run}/${key}/${id}`,
        `${run}/${key}`,
        run,
        key,
        JSON.stringify({ answerId: id, ...said }),
        '',
      ]);
      const queue =
        "UPDATE reef.run SET status = 'queued', queued_at = now() WHERE id = $1 AND status = 'parked' RETURNING id";
      const isParked = (await q.query(queue, [run])).length > 0;
      if (isParked)
        await q.query("SELECT pg_notify('reef', json_build_object('kind', 'run', 'id', $1::text)::text)", [run]);
      return 'taken';
    });
  }

  async answerTo(run: string, key: string): Promise<EntryData | undefined> {
    const row = await answerOf(this.#deps.database, run, key);
    return row && toEntry(row);
  }

  async answers(run: string): Promise<{ key: string; data: EntryData }[]> {
    const sql = 'SELECT key, id, value FROM reef.answer WHERE run = $1 ORDER BY at, id';
    const rows = await this.#deps.database.query<AnswerRow & { key: string }>(sql, [run]);
    return rows.map((row) => ({ key: row.key, data: toEntry(row) }));
  }

  async delivered(run: string, key: string): Promise<void> {
    const sql = 'UPDATE reef.answer SET delivered_at = now() WHERE run = $1 AND key = $2 AND delivered_at IS NULL';
    await this.#deps.database.query(sql, [run, key]);
  }

  /** Waits while the database is away, until the signal fires. */
  async patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ReefError && error.retryable) || signal.aborted) throw error;
        await this.#deps.clock.sleep(pause, signal);
      }
    }
  }

  #fenced<T>(work: (q: Queries) => Promise<T>): Promise<T> {
    const { host, epoch } = this.#deps.self();
    return this.#deps.database.transaction(async (q) => {
      await q.query('SELECT reef.fence($1, $2)', [host, epoch]);
      return work(q);
    });
  }
}

async function answerOf(q: Queries, run: string, key: string): Promise<AnswerRow | undefined> {
  const sql = 'SELECT id, value, delivered_at FROM reef.answer WHERE run = $1 AND key = $2 ORDER BY at, id LIMIT 1';
  const [row] = await q.query<AnswerRow>(sql, [run, key]);
  return row;
}

/** One that was stored by the hub has an id of its own. */
const idOf = ({ id, value }: AnswerRow) => value.answerId ?? id;

function toEntry(row: AnswerRow): EntryData {
  const { isOver, value = null } = row.value;
  return isOver === undefined ? { answerId: idOf(row), value } : { isOver };
}
