import type { Sqlite } from './driver.ts';

/** What a person allowed for the rest of a job, by the fingerprint of tool, arguments and folder. */
export class GrantTable {
  readonly #sql: Sqlite['prepare'];

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  insert({ fingerprint, jobId, at, by }: { fingerprint: string; jobId: string; at: string; by: string }): void {
    const sql = 'INSERT OR IGNORE INTO allowed (fingerprint, job_id, at, by) VALUES (?, ?, ?, ?)';
    this.#sql(sql).run(fingerprint, jobId, at, by);
  }

  /** Who allowed it; undefined when nobody did. */
  find(fingerprint: string, jobId: string): string | undefined {
    const sql = 'SELECT by FROM allowed WHERE fingerprint = ? AND job_id = ?';
    return this.#sql<{ by: string }>(sql).get(fingerprint, jobId)?.by;
  }
}
