import { ReefError } from '../../protocol/errors.ts';
import type { Queries } from '../database/database.ts';

interface NewRepository {
  name: string;
  url: string;
  defaultBranch: string;
  cap?: number | undefined;
  weight?: number | undefined;
}

export async function addRepositoryRow(
  queries: Queries,
  given: NewRepository,
): Promise<NewRepository & { id: string }> {
  const { name, url, defaultBranch, cap, weight } = given;
  const [row] = await queries.query(
    `INSERT INTO reef.repository (id, name, url, default_branch, cap, weight)
     VALUES ($1, $1, $2, $3, coalesce($4, 8), coalesce($5, 1)) ON CONFLICT DO NOTHING RETURNING id`,
    [name, url, defaultBranch, cap ?? null, weight ?? null],
  );
  if (!row) throw new ReefError('name_taken', `The fleet has a repository ${name} already`);
  return { id: name, ...given };
}
