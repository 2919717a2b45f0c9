import type { GateView } from '../protocol/workflow.ts';
import type { Sqlite } from './driver.ts';

/**
 * The verdicts of gates, stored where they are made, so that whoever merges reads them and asks nobody. Those of a worktree
 * without a run are stored under its own id.
 */
export class VerdictTable {
  readonly #sql: Sqlite['prepare'];

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  /** A run that is taken up again tells its verdicts again; each is stored once. */
  insert(runId: string, verdicts: readonly GateView[]): void {
    const statement = this.#sql(
      `INSERT INTO gate_verdict (run_id, branch, block, visit, gate, result, tree) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    for (const { branch, block, visit, gate, result, tree } of verdicts) {
      statement.run(runId, branch, block, visit, gate, result, tree ?? null);
    }
  }

  /** In the order they were made. */
  ofRun(runId: string): GateView[] {
    const sql = 'SELECT branch, block, visit, gate, result, tree FROM gate_verdict WHERE run_id = ? ORDER BY n';
    const rows = this.#sql<Omit<GateView, 'tree'> & { tree: string | null }>(sql).all(runId);
    return rows.map(({ tree, ...rest }) => (tree === null ? rest : { ...rest, tree }));
  }
}
