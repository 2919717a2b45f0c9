import { existsSync } from 'node:fs';
import type { Sqlite } from '../../store/driver.ts';

/** Reads a database while others may write it. Undefined: there is none yet. */
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

/** SQLite's verdict on its file: `ok`, or what is wrong. Undefined: there is no file. */
export async function verdictOf(path: string, deep: boolean): Promise<string | undefined> {
  try {
    return await readDatabase(path, (sqlite) => String(sqlite.pragma(deep ? 'integrity_check' : 'quick_check')));
  } catch (error) {
    const { isDamaged } = await import('../../store/open-database.ts');
    if (isDamaged(error)) return String(error);
    throw error;
  }
}
