/** The part of better-sqlite3 that `driver.ts` uses; the package ships no types. */
declare module 'better-sqlite3' {
  interface Statement {
    run(...parameters: unknown[]): { changes: number; lastInsertRowid: number | bigint };
    get(...parameters: unknown[]): unknown;
    all(...parameters: unknown[]): unknown[];
  }
  class Database {
    constructor(path: string, options?: { readonly?: boolean; timeout?: number });
    prepare(sql: string): Statement;
    exec(sql: string): void;
    pragma(text: string, options?: { simple: boolean }): unknown;
    transaction<T>(work: () => T): { immediate(): T };
    close(): void;
  }
  export = Database;
}
