import { ReefError } from '../../protocol/errors.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { Queries } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import type { HostIdentity } from './home-source.ts';
import { notify } from './notify.ts';

/** The key of the question whether a run that took host after host with it is tried once more. */
export const POISONED = 'run_poisoned';
const OPTIONS = ['Try again', 'Abort the run'];

/** No host has the run, so that the fleet itself asks, and hears the answer. */
export async function askWhatNow(
  queries: Queries,
  { host, epoch }: HostIdentity,
  { id, repository, task, losses }: { id: string; repository: string; task: string; losses: number },
): Promise<void> {
  const question = `${losses} hosts were lost with this run, the last of them ${host}, and none of them finished a block.`;
  const shape = { kind: 'choice', multi: false, freeText: false, secret: false } as const;
  const ids = { questionId: POISONED, requestId: POISONED, fingerprint: POISONED, jobId: id, runId: id, path: [id] };
  const from = { agent: 'reef', task, cwd: '', askedAt: new Date().toISOString() };
  const entry: InboxEntry = { ...shape, ...ids, ...from, question, options: OPTIONS };
  await queries.query(
    `INSERT INTO reef.question (id, host, epoch, repository, run, key, doc) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (id) DO UPDATE SET host = excluded.host, epoch = excluded.epoch, doc = excluded.doc,
       opened_at = now(), closed_at = NULL, closed_why = NULL, answer = NULL`,
    [`${repository}/${id}/${POISONED}`, host, epoch, repository, id, POISONED, cleanJson(entry)],
  );
}

/** In the transaction of the answer: it is said and done. */
export async function settlePoisoned(
  queries: Queries,
  { id, question, run, option }: { id: string; question: string; run: string; option: unknown },
): Promise<void> {
  const chosen = OPTIONS.findIndex((text, n) => text === option || String(n + 1) === String(option));
  if (chosen === -1) throw new ReefError('bad_request', `Answer with an option: ${OPTIONS.join(', ')}`);
  await queries.query('UPDATE reef.answer SET delivered_at = now(), question = NULL WHERE id = $1', [id]);
  const close = "UPDATE reef.question SET closed_at = now(), closed_why = 'answered' WHERE id = $1";
  await queries.query(close, [question]);
  const outcome = { status: 'cancelled', value: 'its hosts were lost with it' };
  await queries.query(
    chosen === 0
      ? `UPDATE reef.run SET status = 'queued', queued_at = now(), lost_count = 0, outcome = NULL
         WHERE id = $1 AND status = 'parked' AND $2::text IS NOT NULL`
      : "UPDATE reef.run SET status = 'cancelled', outcome = $2::jsonb, ended_at = now() WHERE id = $1 AND status = 'parked'",
    [run, JSON.stringify(outcome)],
  );
  await notify(queries, { kind: 'run', id: run });
}
