import { ReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from '../database/database.ts';
import { notify } from './notify.ts';

interface Spender {
  repository: string;
  person: string | null;
}

interface Spent {
  repository: string | null;
  person: string | null;
}

/** Budgets of this month that are used up, of the two that a run counts for. */
async function overspent(queries: Queries, { repository, person }: Spender): Promise<Spent[]> {
  return queries.query<Spent>(
    `SELECT b.repository, b.person FROM reef.budget b
     WHERE (b.repository = $1 OR b.person = $2) AND EXISTS (
       SELECT 1 FROM reef.usage u
       WHERE (u.repository = b.repository OR u.person = b.person) AND u.at >= date_trunc('month', now())
       HAVING sum(u.input + u.output) >= b.tokens OR sum(u.cost) >= b.cost)`,
    [repository, person],
  );
}

/** Before a run is started: no new work on an empty budget. */
export async function refuseOverspent(queries: Queries, spender: Spender): Promise<void> {
  const [spent] = await overspent(queries, spender);
  if (!spent) return;
  const whose = spent.person === null ? 'this repository' : spent.person;
  throw new ReefError('budget_exhausted', `The budget of ${whose} for this month is used up`);
}

/**
 * In the transaction that recorded usage: whatever works on a budget that is now used up is interrupted, on every host, once.
 * A host that has not shipped yet may overshoot by what it has not shipped.
 */
export async function holdToBudgets(
  queries: Queries,
  { repository, run }: { repository: string; run: string | null },
): Promise<void> {
  const [row] = await queries.query<{ by: string }>('SELECT by FROM reef.run WHERE id = $1', [run]);
  for (const spent of await overspent(queries, { repository, person: row?.by ?? null })) {
    const hosts = await queries.query<{ host: string }>(
      `INSERT INTO reef.command (host, op, args, by, key)
       SELECT j.host, 'interrupt', jsonb_build_object('repository', j.repository, 'input', jsonb_build_object('id', j.id)), 'reef',
         'budget:' || to_char(now(), 'YYYYMM') || ':' || j.id
       FROM reef.job j LEFT JOIN reef.run r ON r.id = j.run
       WHERE j.status IN ('running', 'awaiting_input') AND (j.repository = $1 OR r.by = $2)
       ON CONFLICT (key) DO NOTHING RETURNING host`,
      [spent.repository, spent.person],
    );
    for (const host of new Set(hosts.map((each) => each.host))) await notify(queries, { kind: 'command', id: host });
  }
}

/** Replaces the budget of a repository or a person; without a limit there is none. */
export async function setBudget(
  database: Database,
  name: string,
  { tokens, cost }: { tokens?: number | undefined; cost?: number | undefined },
): Promise<{ kind: 'repository' | 'person'; name: string }> {
  return database.transaction(async (queries) => {
    const [repository] = await queries.query<{ id: string }>('SELECT id FROM reef.repository WHERE name = $1', [name]);
    const [person] = await queries.query('SELECT 1 FROM reef.person WHERE name = $1 AND disabled_at IS NULL', [name]);
    if (!repository && !person) throw new ReefError('person_not_found', `There is no repository and no person ${name}`);
    const of = repository ? [repository.id, null] : [null, name];
    await queries.query('DELETE FROM reef.budget WHERE repository = $1 OR person = $2', of);
    if (tokens !== undefined || cost !== undefined) {
      const sql = 'INSERT INTO reef.budget (repository, person, tokens, cost) VALUES ($1, $2, $3, $4)';
      await queries.query(sql, [...of, tokens ?? null, cost ?? null]);
    }
    return { kind: repository ? 'repository' : 'person', name };
  });
}
