import type { Sqlite } from '../../../store/driver.ts';

/** Each statement is compiled once: a cold scan runs the same few a hundred thousand times. */
export function remembering(database: Sqlite): Sqlite['prepare'] {
  const known = new Map<string, ReturnType<Sqlite['prepare']>>();
  return (sql) => {
    const found = known.get(sql) ?? database.prepare(sql);
    known.set(sql, found);
    return found;
  };
}
