import { systemClock } from '../../base/clock.ts';
import { createIds } from '../../base/ids.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { refuseOverspent } from '../store/budgets.ts';
import { cleanJson, cleanText } from '../store/clean-json.ts';
import { notify } from '../store/notify.ts';

interface NewRun {
  repository: string;
  task: string;
  /** As `reef run` takes them: workflow, agent and so on. */
  spec: Record<string, unknown>;
  needs: string[];
  priority: number;
  by: string;
}

const MOST_QUEUED = 1_000;

/** Puts a run into the queue of its repository, or says at once why nobody would take it. */
export async function startRun(database: Database, run: NewRun): Promise<{ id: string; repository: string }> {
  const { repository, task, spec, needs, priority, by } = run;
  const id = createIds(systemClock)();
  await database.transaction(async (queries) => {
    const [row] = await queries.query('SELECT 1 FROM reef.repository WHERE id = $1 FOR SHARE', [repository]);
    if (!row) throw new ReefError('repository_not_found', `The fleet has no repository ${repository}`);
    await refuseFull(queries, repository);
    await refuseUnfit(queries, needs);
    await refuseOverspent(queries, { repository, person: by });
    await queries.query(
      'INSERT INTO reef.run (id, repository, task, spec, needs, priority, by) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      [id, repository, cleanText(task), cleanJson(spec), needs, priority, by],
    );
    await notify(queries, { kind: 'run', id });
  });
  return { id, repository };
}

async function refuseFull(queries: Queries, repository: string): Promise<void> {
  const sql = "SELECT count(*) AS n FROM reef.run WHERE repository = $1 AND status = 'queued'";
  const [row] = await queries.query<{ n: number }>(sql, [repository]);
  if ((row?.n ?? 0) < MOST_QUEUED) return;
  throw new ReefError('queue_full', `${MOST_QUEUED} runs of ${repository} wait already`);
}

async function refuseUnfit(queries: Queries, needs: readonly string[]): Promise<void> {
  const hosts = await queries.query<{ labels: string[] }>(
    "SELECT labels FROM reef.host WHERE state IN ('up', 'unfit')",
  );
  if (hosts.some(({ labels }) => needs.every((label) => labels.includes(label)))) return;
  if (hosts.length === 0) throw new ReefError('no_host_fits', 'No host is up: start one with reef worker');
  const missing = needs.find((label) => !hosts.some(({ labels }) => labels.includes(label)));
  const what = missing === undefined ? `all of ${needs.join(', ')}` : missing;
  throw new ReefError('no_host_fits', `No host has ${what}`);
}
