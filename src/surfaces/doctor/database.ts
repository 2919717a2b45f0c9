import { existsSync } from 'node:fs';
import type { Sqlite } from '../../store/driver.ts';

/** Reads the database of a home beside whoever writes it; undefined where there is none yet. */
export async function readDatabase<T>(path: string, read: (sqlite: Sqlite) => T): Promise<T | undefined> {
  if (!existsSync(path)) return undefined;
  // Late: a database driver that does not load is a finding too.
  const { openSqlite } = await import('../../store/driver.ts');
  const sqlite = openSqlite(path, 'read');
  try {
    return read(sqlite);
  } finally {
    sqlite.close();
  }
}
