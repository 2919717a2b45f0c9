import { ReefError } from '../../protocol/errors.ts';
import type { TrustItem } from '../../protocol/trust.ts';
import type { Queries } from '../database/database.ts';

/** What an admin trusts in a repository on every host: by hash, so that something else is not meant. */
export async function giveTrust(
  queries: Queries,
  { repository, hashes, by }: { repository: string; hashes: readonly string[]; by: string },
): Promise<void> {
  const given = JSON.stringify({ hashes, by, at: new Date().toISOString() });
  const [row] = await queries.query('UPDATE reef.repository SET trust = $2 WHERE id = $1 RETURNING id', [
    repository,
    given,
  ]);
  if (!row) throw new ReefError('repository_not_found', `The fleet has no repository ${repository}`);
}

/** Of what this host has not trusted yet: what the fleet does, and who said so. */
export async function trustGiven(
  queries: Queries,
  { repository, items }: { repository: string; items: readonly TrustItem[] },
): Promise<{ hashes: string[]; by: string } | undefined> {
  const sql = 'SELECT trust FROM reef.repository WHERE id = $1';
  const [row] = await queries.query<{ trust: { hashes: string[]; by: string } | null }>(sql, [repository]);
  const given = new Set(row?.trust?.hashes);
  const hashes = items.filter(({ trusted, hash }) => !trusted && given.has(hash)).map(({ hash }) => hash);
  return hashes.length === 0 ? undefined : { hashes, by: row?.trust?.by ?? '' };
}
