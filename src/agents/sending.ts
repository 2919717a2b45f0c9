import { randomUUID } from 'node:crypto';
import { ReefError } from '../protocol/errors.ts';
import type { Job, Question } from '../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../protocol/operations.ts';
import type { Adapter, Answer } from './adapter.ts';
import { interpretSend } from './answers.ts';
import { decideBudget } from './budget.ts';
import { isOfHost } from './hosts.ts';
import { isLive } from './job-status.ts';
import { changeJob, type JobStorage, type JobTransaction } from './job-transaction.ts';
import { enqueueMessage, type GivenAnswer, type OutboxDoc } from './outbox.ts';
import { acknowledgeAnswer, giveAnswer, isOwn } from './questions.ts';

interface Sending {
  job: Job;
  request: OperationRequest<'send'>;
  caller: Caller;
}

export interface Sent {
  messageId: string;
  /** The outbox row to watch; absent when nothing has to reach the agent yet, or at all. */
  key?: string;
}

/** Stores what is to be sent: a message, or the answer to an open question. The runner delivers it. */
export function send(deps: { storage: JobStorage; adapter: Adapter }, sending: Sending): Sent {
  const { job, request } = sending;
  const { store } = deps.storage;
  const key = request.key === undefined ? undefined : `${job.id}:${request.key}`;
  const repeated = key === undefined ? undefined : store.outbox.get<OutboxDoc | { answered: Sent }>(key);
  if (repeated)
    return 'answered' in repeated.doc ? repeated.doc.answered : { messageId: repeated.ref, key: repeated.key };
  if (!isLive(job.status)) throw new ReefError('job_ended', `job ${job.id} is over (${job.status})`);
  return changeJob(deps.storage, job.id, (tx) => {
    refuseLateAnswer(tx, request);
    // A text is for the agent, which does not know that one of its connections waits for a person.
    const isMeant = (question: Question) => request.text === undefined || !isOfHost(question);
    const unclosed = store.questions.unclosedOf(job.id);
    const open = unclosed.filter(({ state, question }) => state === 'open' && isMeant(question));
    const intent = interpretSend(
      request,
      open.map(({ question }) => asSeen(tx, question, request)),
    );
    const sent =
      intent.is === 'message'
        ? sendMessage(tx, deps.adapter, { ...sending, text: intent.text })
        : sendAnswer(tx, intent, sending.caller);
    // A repeated answer must find the first one: without an open question its text would pass for a message.
    const answered = { jobId: job.id, ref: sent.messageId, state: 'delivered' as const, doc: { answered: sent } };
    if (key !== undefined && intent.is === 'answer') store.outbox.insert({ key, ...answered });
    return sent;
  });
}

/** Who names the fingerprint of the whole has seen it: for them nothing is cut. */
function asSeen(tx: JobTransaction, question: Question, request: OperationRequest<'send'>): Question {
  const { cut, ...seen } = question;
  const whole = cut && tx.storage.store.questions.whole(tx.job.id, question.questionId);
  if (!whole || request.fingerprint !== whole.fingerprint) return question;
  return { ...seen, fingerprint: whole.fingerprint };
}

/** For a question that is no longer open: says who answered first, or that it was withdrawn. */
function refuseLateAnswer(tx: JobTransaction, request: OperationRequest<'send'>): void {
  if (request.questionId === undefined) return;
  const row = tx.storage.store.questions.get<Partial<GivenAnswer>>(tx.job.id, request.questionId);
  if (!row || row.state === 'open') return;
  if (row.answer?.by === undefined)
    throw new ReefError('question_withdrawn', `question ${request.questionId} was withdrawn`);
  const { by, at } = row.answer;
  const answer = row.question.secret ? '(secret)' : row.answer.answer;
  throw new ReefError('already_answered', `question ${request.questionId} was answered by ${by}`, {
    details: { by, at, answer },
  });
}

function sendMessage(tx: JobTransaction, adapter: Adapter, sending: Sending & { text: string }): Sent {
  const { busyMessage, title } = adapter.describe();
  if (busyMessage === 'refused') throw new ReefError('send_unsupported', `${title} takes no message while it works`);
  // Keys typed into a terminal may answer its dialogs, which is for people.
  const isJobAtTerminal = tx.job.mode === 'headful' && sending.caller.jobId !== undefined;
  if (isJobAtTerminal) throw new ReefError('not_yours', 'a job may not type into a terminal');
  const messageId = randomUUID();
  const key = sending.request.key ?? messageId;
  enqueueMessage(tx, { messageId, text: sending.text, by: sending.caller.by, isTask: false, key });
  return { messageId, key: `${tx.job.id}:${key}` };
}

/** A job never answers questions, its children's included: that is for people. */
function sendAnswer(tx: JobTransaction, intent: { question: Question; answer: Answer }, caller: Caller): Sent {
  if (caller.jobId !== undefined) throw new ReefError('not_yours', 'questions are answered by people, not by jobs');
  const { question, answer } = intent;
  const messageId = `${tx.job.id}:${question.questionId}`;
  const wasFirst = giveAnswer(tx, question, { answer, by: caller.by });
  if (!wasFirst) throw new ReefError('already_answered', `question ${question.questionId} was answered a moment ago`);
  remember(tx, question, { answer, by: caller.by });
  if (isOwn(question)) {
    acknowledgeAnswer(tx, question.requestId);
    if (!isOfHost(question)) decideBudget(tx, answer, messageId);
    return { messageId };
  }
  const key = `${tx.job.id}:answer:${tx.job.launch}:${question.requestId}`;
  return tx.storage.store.outbox.get(key) ? { messageId, key } : { messageId };
}

/** Reef keeps what is allowed for longer than once; the agent hears a single allow. */
function remember(tx: JobTransaction, question: Question, given: { answer: Answer; by: string }): void {
  const { answer, by } = given;
  // A question from before there were grants in words is allowed once.
  if (answer.kind !== 'permission' || !question.grant) return;
  const { fingerprint, covers } = question.grant;
  const grant = { fingerprint, at: tx.now(), by };
  if (answer.decision === 'allow_session') tx.storage.store.grants.insert({ ...grant, jobId: tx.job.id });
  if (answer.decision !== 'allow_always') return;
  const { tool = '', input } = question;
  // Nothing waits for it: a grant that could not be stored is only asked for again.
  tx.storage.savedGrants.add({ ...grant, covers, tool, input, cwd: tx.job.cwd }).catch((error: unknown) => {
    process.emitWarning(`a grant could not be stored: ${String(error)}`);
  });
}
