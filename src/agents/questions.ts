import { capJson } from '../base/cap.ts';
import { defined } from '../base/defined.ts';
import { fingerprint } from '../base/fingerprint.ts';
import type { EventOf } from '../protocol/events.ts';
import { decisionSchema, type Question } from '../protocol/jobs.ts';
import type { RawLine, StoredQuestion } from '../store/question-table.ts';
import type { Store } from '../store/store.ts';
import type { Answer, AskedQuestion, Json } from './adapter.ts';
import { grantFor, staysInside } from './grants.ts';
import type { JobTransaction } from './job-transaction.ts';
import { enqueueAnswer, type GivenAnswer, settleRow } from './outbox.ts';

const QUESTION_CAP = 60 * 1024;
/** What is longer is kept whole up to here, for whoever wants to allow it; beyond, it can only be denied. */
const WHOLE_CAP = 256 * 1024;

interface Asking {
  requestId: string;
  questions: AskedQuestion[];
  /** Where the agent's request stands in the raw output, for replies that echo it. */
  line: RawLine;
  /** The request came without its long strings. */
  isSkeleton?: boolean;
  /** Longer than a line may be. */
  isTooLarge?: boolean;
}

/** A request of an agent becomes one `needs_input` per question; what a person allowed before is answered at once. */
export function ask(
  tx: JobTransaction,
  { requestId, questions, line, isSkeleton = false, isTooLarge = false }: Asking,
): void {
  for (const [index, asked] of questions.entries()) {
    const at = { requestId, index, of: questions.length };
    const { question, whole } = shorten(tx.storage.log.redact(toQuestion(tx, asked, at)), isSkeleton || asked.isCut);
    tx.emit({ type: 'needs_input', payload: question });
    tx.storage.store.questions.insert({
      jobId: tx.job.id,
      launch: tx.job.launch,
      question,
      state: 'open',
      askedAt: tx.now(),
      line: { offset: line.offset, bytes: line.bytes },
      ...defined({ whole }),
    });
    if (isTooLarge) {
      refuseTooLarge(tx, question);
      continue;
    }
    const grant = asked.kind === 'permission' ? savedAnswer(tx, asked) : undefined;
    if (grant) {
      tx.emit({ type: 'progress', payload: { kind: 'auto_answered', questionId: question.questionId, grant } });
      const decision = grant === 'readonly' ? 'deny' : 'allow_once';
      giveAnswer(tx, question, { answer: { kind: 'permission', decision }, by: `reef:${grant}` });
    }
  }
}

const TOO_LARGE = 'question_too_large';

function refuseTooLarge(tx: JobTransaction, question: Question): void {
  const { questionId } = question;
  if (tx.storage.store.questions.get(tx.job.id, questionId)?.state !== 'open') return;
  const reason = 'This request is longer than 16 MiB, so nobody can look at it. Do it in smaller parts.';
  const message = 'a request of the agent is longer than 16 MiB and was denied';
  tx.emit({ type: 'error', payload: { code: TOO_LARGE, message, fatal: false, scope: 'line', retryable: false } });
  tx.emit({ type: 'progress', payload: { kind: 'auto_answered', questionId, grant: TOO_LARGE } });
  giveAnswer(tx, question, { answer: { kind: 'permission', decision: 'deny', reason }, by: `reef:${TOO_LARGE}` });
}

/** What was allowed for longer than once. */
export function savedGrant(tx: JobTransaction, { fingerprint: key }: { fingerprint: string }): string | undefined {
  if (tx.storage.store.grants.find(key, tx.job.id) !== undefined) return 'session';
  return tx.storage.savedGrants.has(key) ? 'always' : undefined;
}

function savedAnswer(tx: JobTransaction, asked: AskedQuestion): string | undefined {
  // The answer is the wall here: neither `yes` nor the sandbox gives it.
  if (asked.wants && 'host' in asked.wants) return undefined;
  if (tx.job.readonly && !asked.isOwnTool) return 'readonly';
  // An interrupt is on its way: a yes would be overtaken by one more call of the model.
  if (tx.runtime.spent) return undefined;
  if (asked.isOwnTool) return 'own_tool';
  if (tx.job.yes) return 'yes';
  if (asked.onlyReads) return 'read_only_tool';
  if (tx.runtime.isWalled && staysInside(tx.job, asked)) return 'sandbox';
  return savedGrant(tx, grantFor(tx.job, asked));
}

function toQuestion(
  tx: JobTransaction,
  asked: AskedQuestion,
  at: { requestId: string; index: number; of: number },
): Question {
  const {
    multi = false,
    freeText = false,
    secret = false,
    choices,
    isOwnTool: _,
    onlyReads: _onlyReads,
    wants: _wants,
    isCut: _isCut,
    ...rest
  } = asked;
  const print = fingerprint({ job: tx.job.id, cwd: tx.job.cwd, asked: asked as unknown as Json });
  const isPermission = asked.kind === 'permission';
  const options = isPermission ? [...decisionSchema.options] : choices?.map((choice) => choice.label);
  const grant = isPermission ? grantFor(tx.job, asked) : undefined;
  return {
    ...rest,
    ...defined({ choices, options, grant }),
    multi,
    freeText,
    secret,
    questionId: `${at.requestId}#${at.index}`,
    requestId: at.requestId,
    fingerprint: print,
    ...(at.of > 1 ? { group: { index: at.index, of: at.of } } : {}),
    path: ancestry(tx),
  };
}

/** What is cut has a fingerprint of its own: a decision that names it was made about a part, and allows nothing. */
function shorten(whole: Question, isCut = false): { question: Question; whole?: Question } {
  const bytes = Buffer.byteLength(JSON.stringify(whole));
  if (bytes <= QUESTION_CAP && !isCut) return { question: whole };
  const isKept = bytes <= WHOLE_CAP && !isCut;
  const part = { ...whole, cut: { bytes, isKept }, fingerprint: fingerprint({ part: whole.fingerprint }) };
  const question = capJson(part, QUESTION_CAP) as Question;
  return isKept ? { question, whole } : { question };
}

/** All of the question with this fingerprint, or with it as the one of its shown part. */
export function wholeOf(
  { questions }: Store,
  { jobId, question }: Pick<StoredQuestion, 'jobId' | 'question'>,
  name: string,
): Question | undefined {
  const whole = question.cut ? questions.whole(jobId, question.questionId) : question;
  const isMeant = [question, whole].some((each) => each?.fingerprint.startsWith(name));
  return isMeant ? (whole ?? question) : undefined;
}

/** Job ids from the root down to this one. */
function ancestry(tx: JobTransaction): string[] {
  const path = [tx.job.id];
  let parentId = tx.job.parentId;
  while (parentId !== undefined) {
    path.unshift(parentId);
    parentId = tx.storage.store.jobs.get(parentId)?.job.parentId;
  }
  return path;
}

/** False when somebody else was first. The agent gets its reply when the last question of the request is answered. */
export function giveAnswer(tx: JobTransaction, question: Question, given: { answer: Answer; by: string }): boolean {
  const { questions } = tx.storage.store;
  const messageId = `${tx.job.id}:${question.questionId}`;
  const answer: GivenAnswer = { ...given, at: tx.now(), messageId };
  const id = { jobId: tx.job.id, questionId: question.questionId };
  if (!questions.move(id, 'open', { state: 'answered', answer })) return false;
  const request = requestRows(tx, question.requestId);
  const next = request.find((row) => row.state === 'open');
  // Who declines one field of a form declines all of it.
  if (next && question.field && given.answer.kind === 'permission') return giveAnswer(tx, next.question, given);
  const isComplete = request.every((row) => row.state === 'answered') && request.length === (question.group?.of ?? 1);
  if (isComplete) enqueueAnswer(tx, question.requestId, request);
  return true;
}

/** The rows of one request, in the order they were asked. */
function requestRows(tx: JobTransaction, requestId: string): StoredQuestion<GivenAnswer>[] {
  return tx.storage.store.questions
    .unclosedOf<GivenAnswer>(tx.job.id)
    .filter((row) => row.question.requestId === requestId)
    .sort((a, b) => (a.question.group?.index ?? 0) - (b.question.group?.index ?? 0));
}

/** The agent took the answer: only now it counts as sent, and the job goes on. */
export function acknowledgeAnswer(tx: JobTransaction, requestId: string): void {
  for (const row of requestRows(tx, requestId)) {
    const id = { jobId: tx.job.id, questionId: row.question.questionId };
    if (row.answer === undefined || !tx.storage.store.questions.move(id, 'answered', { state: 'closed' })) continue;
    tx.emit({ type: 'input_sent', payload: inputSent(row.question, row.answer) });
  }
  settleRow(tx, requestId, 'delivered');
}

function inputSent(question: Question, given: GivenAnswer): EventOf<'input_sent'>['payload'] {
  const { answer, by, messageId } = given;
  const common = { messageId, questionId: question.questionId, by };
  if (answer.kind === 'permission') return { ...common, decision: answer.decision };
  const text = question.secret && answer.text !== undefined ? '(secret)' : answer.text;
  const option = answer.kind === 'choice' ? answer.labels : undefined;
  return { ...common, ...defined({ option, text }) };
}

/** A question of Reef's own: no agent waits for its answer. */
export function isOwn(question: { requestId: string }): boolean {
  return question.requestId.startsWith('reef:');
}

/** It outlives the turn. */
function isOfBudget(question: { requestId: string }): boolean {
  return question.requestId.startsWith('reef:budget:');
}

/** Questions the agent no longer waits for: one request's, or all. */
export function withdraw(tx: JobTransaction, by: string, requestId?: string): void {
  const rows = tx.storage.store.questions.unclosedOf<GivenAnswer>(tx.job.id);
  for (const row of rows) {
    const isOthers =
      requestId === undefined ? by !== 'exit' && isOfBudget(row.question) : row.question.requestId !== requestId;
    if (isOthers) continue;
    const id = { jobId: tx.job.id, questionId: row.question.questionId };
    tx.storage.store.questions.move(id, row.state, {
      state: 'closed',
      ...(row.answer ? {} : { answer: { withdrawn: by } }),
    });
    tx.emit({ type: 'progress', payload: { kind: 'withdrawn', questionId: id.questionId, by } });
    settleRow(tx, row.question.requestId, 'failed');
  }
}
