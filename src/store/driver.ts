import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';

/** The few calls we make of SQLite, in the shape of `node:sqlite`, so that a change of driver is a change of this file. */
interface Statement {
  run(...values: SqlValue[]): { changes: number };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}
type SqlValue = string | number | bigint | null | Uint8Array;

export interface Sqlite {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  pragma(text: string): unknown;
  close(): void;
}

export function openSqlite(path: string, access: 'read' | 'write' = 'write', busyTimeoutMs = 250): Sqlite {
  // SQLite gives its side files the mode of the database, and the database that of the umask.
  if (access === 'write') closeSync(openSync(path, 'a', 0o600));
  const database = new Database(path, { readonly: access === 'read', timeout: busyTimeoutMs });
  return {
    prepare: (sql) => database.prepare(sql),
    exec: (sql) => database.exec(sql),
    pragma: (text) => database.pragma(text, { simple: true }),
    close: () => database.close(),
  };
}
