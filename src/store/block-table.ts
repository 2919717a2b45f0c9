import type { Json } from '../protocol/workflow.ts';
import type { Sqlite } from './driver.ts';

/** Which visit of a run a job works on, and what it handed in for it. */
export interface BlockJob {
  jobId: string;
  runId: string;
  block: string;
  visit: number;
  branch: string;
  /** JSON Schema of the result. */
  schema: Json;
  result: Json | null;
}

type Row = Omit<BlockJob, 'schema' | 'result'> & { schema: string; result: string | null };
const SELECT = 'SELECT job_id AS jobId, run_id AS runId, block, visit, branch, schema, result FROM block_job';

export class BlockTable {
  readonly #sql: Sqlite['prepare'];

  constructor({ prepare }: Sqlite) {
    this.#sql = prepare;
  }

  insert({ jobId, runId, block, visit, branch, schema }: Omit<BlockJob, 'result'>): void {
    this.#sql(
      'INSERT INTO block_job (job_id, run_id, block, visit, branch, schema) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ).run(jobId, runId, block, visit, branch, JSON.stringify(schema));
  }

  /** A job that goes on for another visit works on that one from now. */
  assign(block: Omit<BlockJob, 'result'>): void {
    this.#sql('DELETE FROM block_job WHERE job_id = ?').run(block.jobId);
    this.insert(block);
  }

  /** Null when another turn begins: an earlier result does not answer it. */
  setResult(jobId: string, result: Json | null): void {
    const text = result === null ? null : JSON.stringify(result);
    this.#sql('UPDATE block_job SET result = ? WHERE job_id = ?').run(text, jobId);
  }

  get(jobId: string): BlockJob | undefined {
    const row = this.#sql<Row>(`${SELECT} WHERE job_id = ?`).get(jobId);
    return row && toBlockJob(row);
  }

  /** What the runs of these jobs were asked to do, where they have one. */
  tasks(jobIds: readonly string[]): Map<string, string> {
    const sql = `SELECT job_id AS jobId, doc ->> '$.task' AS task FROM block_job JOIN run ON run.id = run_id
      WHERE job_id IN (SELECT value FROM json_each(?))`;
    const rows = this.#sql<{ jobId: string; task: string }>(sql).all(JSON.stringify(jobIds));
    return new Map(rows.map(({ jobId, task }) => [jobId, task]));
  }

  ofRun(runId: string): BlockJob[] {
    return this.#sql<Row>(`${SELECT} WHERE run_id = ? ORDER BY job_id`).all(runId).map(toBlockJob);
  }
}

function toBlockJob({ schema, result, ...rest }: Row): BlockJob {
  return { ...rest, schema: JSON.parse(schema), result: result === null ? null : JSON.parse(result) };
}
