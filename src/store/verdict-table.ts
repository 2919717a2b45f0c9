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
      `INSERT INTO gate_verdict (run_id, branch, block, visit, gate, result, tree, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
    );
    for (const { branch, block, visit, gate, result, tree, key } of verdicts) {
      statement.run(runId, branch, block, visit, gate, result, tree ?? null, key ?? null);
    }
  }

  /** In the order they were made. */
  ofRun(runId: string): GateView[] {
    const sql = 'SELECT branch, block, visit, gate, result, tree, key FROM gate_verdict WHERE run_id = ? ORDER BY n';
    type Row = Omit<GateView, 'tree' | 'key'> & { tree: string | null; key: string | null };
    const rows = this.#sql<Row>(sql).all(runId);
    return rows.map(({ tree, key, ...rest }) => ({
      ...rest,
      ...(tree !== null && { tree }),
      ...(key !== null && { key }),
    }));
  }

  /** How often each gate said what. */
  counts(): { gate: string; result: string; count: number }[] {
    const sql = 'SELECT gate, result, count(*) AS count FROM gate_verdict GROUP BY gate, result ORDER BY gate, result';
    return this.#sql<{ gate: string; result: string; count: number }>(sql).all();
  }

  /** Whether a gate has passed on exactly these files. A failure counts for nothing: its cause may have gone. */
  hasPassed(tree: string, key: string): boolean {
    const sql = `SELECT 1 FROM gate_verdict WHERE tree = ? AND key = ? AND result = 'passed' LIMIT 1`;
    return this.#sql(sql).all(tree, key).length > 0;
  }

  /** What a gate named as failed on a tree before anybody changed it; undefined if it was not judged. */
  baseFailures(tree: string, key: string): string[] | undefined {
    const sql = 'SELECT failures FROM base_failure WHERE tree = ? AND key = ?';
    const [row] = this.#sql<{ failures: string }>(sql).all(tree, key);
    return row && (JSON.parse(row.failures) as string[]);
  }

  keepBaseFailures(tree: string, key: string, failures: readonly string[]): void {
    this.#sql('INSERT OR REPLACE INTO base_failure (tree, key, failures) VALUES (?, ?, ?)').run(
      tree,
      key,
      JSON.stringify(failures),
    );
  }
}
