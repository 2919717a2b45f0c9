import { ReefError } from '../../protocol/errors.ts';
import type { Queries } from '../database/database.ts';
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
