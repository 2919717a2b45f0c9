import { z } from 'zod';
import { questionSchema } from '../protocol/jobs.ts';
import type { Changes } from './changes.ts';
import type { Sqlite } from './driver.ts';

export const storedQuestionSchema = z.strictObject({
  jobId: z.string(),
  launch: z.number().int(),
  question: questionSchema,
  /** `open` asks a person, `answered` waits for the agent to take the answer, `closed` is history. */
  state: z.enum(['open', 'answered', 'closed']),
  askedAt: z.string(),
  /** Where its line stands in the raw output of the launch. */
  line: z.strictObject({ offset: z.number().int(), bytes: z.number().int() }),
  /** How it was closed or answered, and by whom. */
  answer: z.unknown().optional(),
});
export type StoredQuestion<A = unknown> = Omit<z.infer<typeof storedQuestionSchema>, 'answer'> & { answer?: A };
type Question = StoredQuestion['question'];
export type QuestionState = StoredQuestion['state'];
export type RawLine = StoredQuestion['line'];

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

const COLUMNS = 'job_id, launch, state, doc, asked_at, line_offset, line_bytes, answer';

export class QuestionTable {
  readonly #sql: Sqlite['prepare'];
  readonly #changes: Changes;

  constructor({ prepare }: Sqlite, changes: Changes) {
    this.#sql = prepare;
    this.#changes = changes;
  }

  /** `whole` is kept beside a question that is cut until it is closed. No list reads it. */
  insert({
    jobId,
    question,
    state,
    askedAt,
    launch,
    line,
    answer,
    whole,
  }: StoredQuestion & { whole?: Question }): void {
    this.#changes.tell({ kind: 'inbox', id: jobId });
    this.#sql(
      `INSERT OR REPLACE INTO question
       (job_id, question_id, request_id, state, doc, asked_at, launch, line_offset, line_bytes, answer, whole) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      jobId,
      question.questionId,
      question.requestId,
      state,
      JSON.stringify(question),
      askedAt,
      launch,
      line.offset,
      line.bytes,
      answer === undefined ? null : JSON.stringify(answer),
      whole === undefined ? null : JSON.stringify(whole),
    );
  }

  /** Compare and swap: false when somebody else was first. */
  move(
    { jobId, questionId }: { jobId: string; questionId: string },
    from: QuestionState,
    to: { state: QuestionState; answer?: unknown },
  ): boolean {
    this.#changes.tell({ kind: 'inbox', id: jobId });
    const answer = to.answer === undefined ? null : JSON.stringify(to.answer);
    const sql = `UPDATE question SET state = ?, answer = coalesce(?, answer), whole = iif(? = 'closed', NULL, whole)
       WHERE job_id = ? AND question_id = ? AND state = ?`;
    return this.#sql(sql).run(to.state, answer, to.state, jobId, questionId, from).changes === 1;
  }

  whole(jobId: string, questionId: string): Question | undefined {
    const sql = 'SELECT whole FROM question WHERE job_id = ? AND question_id = ?';
    const [row] = this.#sql<{ whole: string | null }>(sql).all(jobId, questionId);
    return row?.whole == null ? undefined : JSON.parse(row.whole);
  }

  get<A>(jobId: string, questionId: string): StoredQuestion<A> | undefined {
    return this.#select<A>('job_id = ? AND question_id = ?', jobId, questionId)[0];
  }

  unclosedOf<A>(jobId: string): StoredQuestion<A>[] {
    return this.#select<A>("job_id = ? AND state != 'closed'", jobId);
  }

  open(): StoredQuestion[] {
    // In the words of the partial index, which knows what is not closed.
    return this.#select("state != 'closed' ORDER BY asked_at").filter(({ state }) => state === 'open');
  }

  #select<A>(where: string, ...values: string[]): StoredQuestion<A>[] {
    const rows = this.#sql<QuestionRow>(`SELECT ${COLUMNS} FROM question WHERE ${where}`).all(...values);
    return rows.map((row) => ({
      jobId: row.job_id,
      launch: row.launch,
      question: JSON.parse(row.doc),
      state: row.state,
      askedAt: row.asked_at,
      line: { offset: row.line_offset, bytes: row.line_bytes },
      ...(row.answer !== null && { answer: JSON.parse(row.answer) }),
    }));
  }
}
