import { hostname, userInfo } from 'node:os';
import { databaseUrl } from '../../../fleet/database/address.ts';
import type { Database } from '../../../fleet/database/database.ts';
import { type DatabaseOptions as Options, openDatabase } from '../../../fleet/database/open-database.ts';
import { audit } from '../../../fleet/hub/audit.ts';
import { toReefError } from '../../../protocol/errors.ts';
import type { Cli } from '../cli.ts';

export interface DatabaseOptions {
  databaseUrl?: string;
  databaseUrlFile?: string;
}

export function addressOf({ env }: Cli, { databaseUrl: argument, databaseUrlFile: file }: DatabaseOptions): string {
  return databaseUrl({ argument, file }, env);
}

/** Who is at this terminal: whoever may write into the database may say who they are. */
export function operatorName(): string {
  return `${userInfo().username}@${hostname()}`;
}

export async function withDatabase<T>(
  cli: Cli,
  { role = 'reef_app', ...named }: DatabaseOptions & Pick<Options, 'role'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(addressOf(cli, named), { env: cli.env, role });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** With a row in the audit, whatever comes of it. */
export async function audited<T>(
  cli: Cli,
  { operation, target, ...named }: DatabaseOptions & Pick<Options, 'role'> & { operation: string; target: string },
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const entry = { by: operatorName(), surface: 'cli', operation: `fleet.${operation}`, target };
  return withDatabase(cli, named, async (database) => {
    try {
      const result = await work(database);
      await audit(database, { ...entry, outcome: 'ok' });
      return result;
    } catch (error) {
      await audit(database, { ...entry, outcome: toReefError(error).code }).catch(() => undefined);
      throw error;
    }
  });
}
