import type { Sqlite } from './driver.ts';

export interface AuditEntry {
  by: string;
  surface: string;
  operation: string;
  target?: string;
  outcome: string;
}

/** Who changed what: appended, never updated, no secrets. */
export class AuditTable {
  readonly #insert;
  readonly #all;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO audit (at, by, surface, operation, target, outcome) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#all = database.prepare('SELECT * FROM audit ORDER BY seq');
  }

  append(at: string, entry: AuditEntry): void {
    this.#insert.run(at, entry.by, entry.surface, entry.operation, entry.target ?? null, entry.outcome);
  }

  all(): (AuditEntry & { seq: number; at: string })[] {
    return this.#all.all() as (AuditEntry & { seq: number; at: string })[];
  }
}
