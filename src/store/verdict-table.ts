import type { GateView } from '../protocol/workflow.ts';
import type { Sqlite } from './driver.ts';

/** The verdicts of gates, stored where they are made, so that whoever merges reads them and asks nobody. */
export class VerdictTable {
  readonly #insert;
  readonly #ofRun;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      `INSERT INTO gate_verdict (run_id, branch, block, visit, gate, result, tree) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    this.#ofRun = database.prepare(
      'SELECT branch, block, visit, gate, result, tree FROM gate_verdict WHERE run_id = ? ORDER BY n',
    );
  }

  /** A run that is taken up again tells its verdicts again; each is stored once. */
  insert(runId: string, verdicts: readonly GateView[]): void {
    for (const { branch, block, visit, gate, result, tree } of verdicts) {
      this.#insert.run(runId, branch, block, visit, gate, result, tree ?? null);
    }
  }

  /** In the order they were made. */
  ofRun(runId: string): GateView[] {
    const rows = this.#ofRun.all(runId) as (Omit<GateView, 'tree'> & { tree: string | null })[];
    return rows.map(({ tree, ...rest }) => (tree === null ? rest : { ...rest, tree }));
  }
}
