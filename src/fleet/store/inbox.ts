import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { Database, Queries } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import { notify } from './notify.ts';
import { POISONED, settlePoisoned } from './poisoned.ts';

export interface FleetQuestion {
  id: string;
  host: string;
  repository: string;
  run: string | null;
  job: string | null;
  doc: InboxEntry;
  openedAt: Date;
  /** Who answered, while the host passes it on. */
  answeredBy: string | null;
}

/** What a person says to a question: the fields of `send` that say it. */
export interface AnswerValue {
  text?: string | undefined;
  option?: (string | number)[] | undefined;
  decision?: string | undefined;
  reason?: string | undefined;
  fingerprint?: string | undefined;
}

/** A question of a job whose host has lost it is nobody's; that of a halted run stays. */
const STANDS = '(q.job IS NULL OR (h.epoch = q.epoch))';

/** The one inbox: what is open on all hosts, of the repositories that may be seen. */
export async function openQuestions(queries: Queries, repositories?: readonly string[]): Promise<FleetQuestion[]> {
  return queries.query<FleetQuestion>(
    `SELECT q.id, q.host, q.repository, q.run, q.job, q.doc, q.opened_at AS "openedAt", a.by AS "answeredBy"
     FROM reef.question q JOIN reef.host h ON h.id = q.host LEFT JOIN reef.answer a ON a.question = q.id
     WHERE q.closed_at IS NULL AND ${STANDS} AND ($1::text[] IS NULL OR q.repository = ANY($1)) ORDER BY q.opened_at, q.id`,
    [repositories ?? null],
  );
}

interface Row {
  run: string | null;
  key: string | null;
  closed_why: string | null;
  stands: boolean;
  fingerprint: string | null;
  by: string | null;
  at: Date | null;
}

/** Takes the first answer of all; the second hears who was first. It is passed on by the host that has the question. */
export async function answerQuestion(
  database: Database,
  { question, value, by }: { question: string; value: AnswerValue; by: string },
): Promise<string> {
  const id = createIds(systemClock)();
  await database.transaction(async (queries) => {
    // By itself: a statement that waits for a row sees the others as they were before it waited.
    await queries.query('SELECT 1 FROM reef.question WHERE id = $1 FOR UPDATE', [question]);
    const [row] = await queries.query<Row>(
      `SELECT q.run, q.key, q.closed_why, ${STANDS} AS stands, q.doc ->> 'fingerprint' AS fingerprint, a.by, a.at
       FROM reef.question q JOIN reef.host h ON h.id = q.host LEFT JOIN reef.answer a ON a.question = q.id
       WHERE q.id = $1`,
      [question],
    );
    refuseAnswer(question, row, value);
    await queries.query('INSERT INTO reef.answer (id, question, run, key, value, by) VALUES ($1, $2, $3, $4, $5, $6)', [
      id,
      question,
      row?.run,
      row?.key,
      cleanJson(value),
      by,
    ]);
    await queries.query('UPDATE reef.question SET answer = $2 WHERE id = $1', [question, id]);
    if (row?.key === POISONED)
      return settlePoisoned(queries, { id, question, run: row.run ?? '', option: value.option?.[0] });
    const unpark =
      "UPDATE reef.run SET status = 'queued', queued_at = now() WHERE id = $1 AND status = 'parked' RETURNING id";
    const parked = await queries.query<{ id: string }>(unpark, [row?.run ?? '']);
    for (const run of parked) await notify(queries, { kind: 'run', id: run.id });
    await notify(queries, { kind: 'answer', id });
  });
  return id;
}

function refuseAnswer(question: string, row: Row | undefined, { fingerprint }: AnswerValue): void {
  if (!row) throw new ReefError('question_not_found', `There is no question ${question}`);
  if (row.by !== null) {
    const details = { by: row.by, at: row.at?.toISOString() };
    throw new ReefError('already_answered', `${row.by} answered first`, { details });
  }
  if (!row.stands) throw new ReefError('job_lost', 'The host that asked this is gone, and the job with it');
  if (row.closed_why !== null) throw new ReefError('question_withdrawn', 'Nobody waits for an answer any longer');
  if (fingerprint !== undefined && fingerprint !== row.fingerprint) {
    throw new ReefError('question_changed', 'The question has changed since you saw it');
  }
}

interface Waiting {
  id: string;
  repository: string;
  value: AnswerValue;
  by: string;
  job: string | null;
  run: string | null;
  key: string;
}

/** Answers that this host has to pass on: it asked, or it has the run now. */
export function waitingAnswers(queries: Queries, host: string): Promise<Waiting[]> {
  return queries.query<Waiting>(
    `SELECT a.id, a.value, a.by, q.repository, q.job, q.run, q.key FROM reef.answer a JOIN reef.question q ON q.id = a.question
       LEFT JOIN reef.run r ON r.id = q.run
     WHERE a.delivered_at IS NULL AND a.outcome IS NULL AND (q.job IS NOT NULL OR r.id IS NULL OR r.status IN ('running', 'halted'))
       AND coalesce(r.host, q.host) = $1 ORDER BY a.at`,
    [host],
  );
}

/** The agent has acknowledged it. */
export async function answerDelivered(queries: Queries, id: string): Promise<void> {
  await queries.query('UPDATE reef.answer SET delivered_at = now() WHERE id = $1', [id]);
  await notify(queries, { kind: 'result', id });
}

/** It could not be passed on: the question is free for another answer. */
export async function answerRefused(queries: Queries, id: string, outcome: string): Promise<void> {
  const [row] = await queries.query<{ question: string }>('SELECT question FROM reef.answer WHERE id = $1', [id]);
  await queries.query('UPDATE reef.answer SET outcome = $2, question = NULL WHERE id = $1', [id, outcome]);
  await queries.query('UPDATE reef.question SET answer = NULL WHERE id = $1 AND answer = $2', [row?.question, id]);
  await notify(queries, { kind: 'result', id });
}

/** What became of an answer: undefined while it is on its way. */
export async function answerOutcome(queries: Queries, id: string): Promise<'delivered' | undefined> {
  const [row] = await queries.query<{ outcome: string | null; delivered: boolean }>(
    'SELECT outcome, delivered_at IS NOT NULL AS delivered FROM reef.answer WHERE id = $1',
    [id],
  );
  if (row?.outcome != null) {
    const code = Object.hasOwn(errorTable, row.outcome) ? (row.outcome as ErrorCode) : 'internal';
    throw new ReefError(code, `The answer did not reach the agent: ${errorTable[code].hint}`);
  }
  return row?.delivered ? 'delivered' : undefined;
}
