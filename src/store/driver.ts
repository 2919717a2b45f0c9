import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';

/** The few calls we make of SQLite, in the shape of `node:sqlite`: another driver changes only this file. */
interface Statement<Row> {
  run(...values: SqlValue[]): { changes: number };
  get(...values: SqlValue[]): Row | undefined;
  all(...values: SqlValue[]): Row[];
}
type SqlValue = string | number | bigint | null | Uint8Array;

export interface Sqlite {
  /** Compiles each text once. The caller names the shape of the rows. */
  prepare<Row = unknown>(sql: string): Statement<Row>;
  exec(sql: string): void;
  /** Does all of the work or nothing of it. Only one connection at a time is inside. */
  transaction<T>(work: () => T): T;
  pragma(text: string): unknown;
  close(): void;
}

export function openSqlite(path: string, access: 'read' | 'write' = 'write', busyTimeoutMs = 250): Sqlite {
  // SQLite gives its side files the mode of the database, and the database that of the umask.
  if (access === 'write') closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { readonly: access === 'read', timeout: busyTimeoutMs });
  const compiled = new Map<string, Statement<unknown>>();
  return {
    prepare<Row>(sql: string) {
      const statement = compiled.get(sql) ?? database.prepare(sql);
      compiled.set(sql, statement);
      return statement as Statement<Row>;
    },
    exec: (sql) => database.exec(sql),
    transaction: (work) => database.transaction(work).immediate(),
    pragma: (text) => database.pragma(text, { simple: true }),
    close: () => database.close(),
  };
}

/** SQLite's own name of a failure, such as `SQLITE_BUSY`; empty for any other error. */
export function sqliteCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code.startsWith('SQLITE_') ? code : '';
}
