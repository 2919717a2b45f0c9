import type { Sqlite } from './driver.ts';

export interface AuditEntry {
  by: string;
  surface: string;
  operation: string;
  target?: string;
  outcome: string;
}

/** Who changed what: only ever appended, and without secrets. */
export class AuditTable {
  readonly #sql: Sqlite['prepare'];

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  append(at: string, { by, surface, operation, target, outcome }: AuditEntry): void {
    const sql = 'INSERT INTO audit (at, by, surface, operation, target, outcome) VALUES (?, ?, ?, ?, ?, ?)';
    this.#sql(sql).run(at, by, surface, operation, target ?? null, outcome);
  }
}
