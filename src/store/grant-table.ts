import type { Sqlite } from './driver.ts';

/** What a person allowed for the rest of a job, by the fingerprint of tool, arguments and folder. */
export class GrantTable {
  readonly #insert;
  readonly #find;

  constructor(database: Sqlite) {
    this.#insert = database.prepare('INSERT OR IGNORE INTO allowed (fingerprint, job_id, at, by) VALUES (?, ?, ?, ?)');
    this.#find = database.prepare('SELECT by FROM allowed WHERE fingerprint = ? AND job_id = ?');
  }

  insert(grant: { fingerprint: string; jobId: string; at: string; by: string }): void {
    this.#insert.run(grant.fingerprint, grant.jobId, grant.at, grant.by);
  }

  /** Who allowed it, if anybody did. */
  find(fingerprint: string, jobId: string): string | undefined {
    return (this.#find.get(fingerprint, jobId) as { by: string } | undefined)?.by;
  }
}
