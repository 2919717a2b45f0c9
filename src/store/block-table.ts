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

export class BlockTable {
  readonly #insert;
  readonly #setResult;
  readonly #get;
  readonly #ofRun;

  constructor(database: Sqlite) {
    const row = 'SELECT job_id AS jobId, run_id AS runId, block, visit, branch, schema, result FROM block_job';
    this.#insert = database.prepare(
      'INSERT INTO block_job (job_id, run_id, block, visit, branch, schema) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#setResult = database.prepare('UPDATE block_job SET result = ? WHERE job_id = ?');
    this.#get = database.prepare(`${row} WHERE job_id = ?`);
    this.#ofRun = database.prepare(`${row} WHERE run_id = ? ORDER BY job_id`);
  }

  insert({ jobId, runId, block, visit, branch, schema }: Omit<BlockJob, 'result'>): void {
    this.#insert.run(jobId, runId, block, visit, branch, JSON.stringify(schema));
  }

  /** Null when another turn begins: what was handed in before answers nothing now. */
  setResult(jobId: string, result: Json | null): void {
    this.#setResult.run(result === null ? null : JSON.stringify(result), jobId);
  }

  get(jobId: string): BlockJob | undefined {
    return toBlockJob(this.#get.get(jobId));
  }

  ofRun(runId: string): BlockJob[] {
    return this.#ofRun
      .all(runId)
      .map(toBlockJob)
      .filter((each) => each !== undefined);
  }
}

function toBlockJob(row: unknown): BlockJob | undefined {
  if (row === undefined) return undefined;
  const found = row as Omit<BlockJob, 'schema' | 'result'> & { schema: string; result: string | null };
  return {
    ...found,
    schema: JSON.parse(found.schema),
    result: found.result === null ? null : JSON.parse(found.result),
  };
}
