import type { Question } from '../protocol/jobs.ts';
import type { Sqlite } from './driver.ts';

/** Where a line stands in the raw output of a launch. */
export interface RawLine {
  offset: number;
  bytes: number;
}

/** `open` asks a person, `answered` waits for the agent to take the answer, `closed` is history. */
export type QuestionState = 'open' | 'answered' | 'closed';

export interface StoredQuestion<A = unknown> {
  jobId: string;
  launch: number;
  question: Question;
  state: QuestionState;
  askedAt: string;
  line: RawLine;
  /** How it was closed or answered, and by whom. */
  answer?: A;
}

interface QuestionRow {
  job_id: string;
  launch: number;
  state: QuestionState;
  doc: string;
  asked_at: string;
  line_offset: number;
  line_bytes: number;
  answer: string | null;
}

export class QuestionTable {
  readonly #insert;
  readonly #resolve;
  readonly #get;
  readonly #ofJob;
  readonly #unclosed;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT OR REPLACE INTO question (job_id, question_id, request_id, state, doc, asked_at, launch, line_offset, line_bytes, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#resolve = database.prepare(
      'UPDATE question SET state = ?, answer = coalesce(?, answer) WHERE job_id = ? AND question_id = ? AND state = ?',
    );
    this.#get = database.prepare('SELECT * FROM question WHERE job_id = ? AND question_id = ?');
    this.#ofJob = database.prepare("SELECT * FROM question WHERE job_id = ? AND state != 'closed'");
    this.#unclosed = database.prepare("SELECT * FROM question WHERE state != 'closed' ORDER BY asked_at");
  }

  insert(row: StoredQuestion): void {
    const { question, jobId } = row;
    const key = [jobId, question.questionId, question.requestId] as const;
    this.#insert.run(
      ...key,
      row.state,
      JSON.stringify(question),
      row.askedAt,
      row.launch,
      row.line.offset,
      row.line.bytes,
      row.answer === undefined ? null : JSON.stringify(row.answer),
    );
  }

  /** Compare and swap: false when somebody else was first. */
  move(
    id: { jobId: string; questionId: string },
    from: QuestionState,
    to: { state: QuestionState; answer?: unknown },
  ): boolean {
    const answer = to.answer === undefined ? null : JSON.stringify(to.answer);
    return this.#resolve.run(to.state, answer, id.jobId, id.questionId, from).changes === 1;
  }

  get<A>(jobId: string, questionId: string): StoredQuestion<A> | undefined {
    const row = this.#get.get(jobId, questionId);
    return row === undefined ? undefined : toQuestion<A>(row);
  }

  unclosedOf<A>(jobId: string): StoredQuestion<A>[] {
    return this.#ofJob.all(jobId).map((row) => toQuestion<A>(row));
  }

  open(): StoredQuestion[] {
    return this.#unclosed
      .all()
      .map((row) => toQuestion(row))
      .filter((question) => question.state === 'open');
  }
}

function toQuestion<A>(value: unknown): StoredQuestion<A> {
  const row = value as QuestionRow;
  return {
    jobId: row.job_id,
    launch: row.launch,
    question: JSON.parse(row.doc),
    state: row.state,
    askedAt: row.asked_at,
    line: { offset: row.line_offset, bytes: row.line_bytes },
    ...(row.answer === null ? {} : { answer: JSON.parse(row.answer) }),
  };
}
