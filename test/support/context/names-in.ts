import { existsSync } from 'node:fs';
import { openSqlite } from '../../../src/store/driver.ts';

/** The names that the parsed files of a store define. To look is no question: nothing is read because of it. */
export function namesIn(store: string): string[] {
  if (!existsSync(store)) return [];
  const database = openSqlite(store, 'read');
  try {
    const rows = database.prepare<{ names: string }>('SELECT names FROM defined').all();
    return rows.flatMap(({ names }) => names.split(/[^\w$]+/));
  } finally {
    database.close();
  }
}
