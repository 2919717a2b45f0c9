import type { ErrorCode } from '../protocol/error-table.ts';
import type { EventOf } from '../protocol/events.ts';
import type { OutboxRow } from '../store/outbox-table.ts';
import type { RawLine, StoredQuestion } from '../store/question-table.ts';
import type { Answer } from './adapter.ts';
import type { JobTransaction } from './job-transaction.ts';

/** How a question was answered, and by whom: kept with it until the agent has taken the answer. */
export interface GivenAnswer {
  answer: Answer;
  by: string;
  at: string;
  messageId: string;
}

/** What waits to be written to an agent. The adapter makes the bytes late, from its state at that moment. */
export type OutboxDoc = OutboxContent & {
  /** Bytes of the write under way: more than the pipe takes at once may be torn by a kill. */
  size?: number;
  /** It is sent again although it may have reached the agent before a kill, and the agent does not notice repeats. */
  isRepeat?: boolean;
  refused?: { code: ErrorCode; message: string };
};

type OutboxContent =
  /** A line of the adapter's own: hand-shake, refusal of a request. */
  | { kind: 'line'; line: string }
  /** `isTask`: the job's own task, which makes no `input_sent`. */
  | { kind: 'message'; messageId: string; text: string; by: string; isTask: boolean }
  | { kind: 'answer'; requestId: string; answers: Answer[]; launch: number; line: RawLine }
  | { kind: 'interrupt'; messageId: string };

export type Outbound = OutboxRow<OutboxDoc>;

/** `ref` is what the agent's acknowledgement will name. A key that is known adds nothing. */
function enqueue(tx: JobTransaction, doc: OutboxDoc, ref: string, key = ref): void {
  const { id } = tx.job;
  tx.storage.store.outbox.insert({ key: `${id}:${key}`, jobId: id, ref, state: 'new', doc });
}

export function enqueueLine(tx: JobTransaction, line: string, key: string): void {
  enqueue(tx, { kind: 'line', line }, key);
}

export function enqueueMessage(
  tx: JobTransaction,
  message: { messageId: string; text: string; by: string; isTask: boolean; key?: string | undefined },
): void {
  const { key, ...rest } = message;
  enqueue(tx, { kind: 'message', ...rest }, message.messageId, key);
}

export function enqueueInterrupt(tx: JobTransaction, messageId: string): void {
  enqueue(tx, { kind: 'interrupt', messageId }, messageId);
}

export function enqueueAnswer(tx: JobTransaction, requestId: string, rows: StoredQuestion<GivenAnswer>[]): void {
  const [first] = rows;
  const answers = rows.flatMap((row) => (row.answer ? [row.answer.answer] : []));
  if (!first) return;
  const { launch, line } = first;
  enqueue(tx, { kind: 'answer', requestId, answers, launch, line }, requestId, `answer:${launch}:${requestId}`);
}

/** The agent has acknowledged the row, or never will. */
export function settleRow(tx: JobTransaction, ref: string, state: 'delivered' | 'failed'): Outbound | undefined {
  const row = tx.storage.store.outbox.open<OutboxDoc>(tx.job.id).find((candidate) => candidate.ref === ref);
  if (row) tx.storage.store.outbox.move(row.key, state);
  return row;
}

/** The agent took a message: logged when it takes it, not when it was written. */
export function acknowledgeMessage(tx: JobTransaction, messageId: string): void {
  const row = settleRow(tx, messageId, 'delivered');
  if (row?.doc.kind !== 'message' || row.doc.isTask) return;
  const payload: EventOf<'input_sent'>['payload'] = { messageId, text: row.doc.text, by: row.doc.by };
  tx.emit({ type: 'input_sent', payload: row.doc.isRepeat ? { ...payload, maybe_repeated: true } : payload });
}
