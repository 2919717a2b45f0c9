import { ReefError } from '../../protocol/errors.ts';
import type { Database } from '../database/database.ts';

/** The host claims nothing from its next beat on. Resolves with how many runs it still has. */
export async function drainHost(database: Database, host: string): Promise<number> {
  const [row] = await database.query<{ left: number }>(
    `UPDATE reef.host SET state = 'draining' WHERE id = $1 AND state IN ('up', 'unfit', 'draining')
     RETURNING (SELECT count(*) FROM reef.run WHERE host = $1 AND status IN ('running', 'halted')) AS left`,
    [host],
  );
  if (!row) throw new ReefError('host_not_found', `No host ${host} works in this fleet`);
  return row.left;
}
