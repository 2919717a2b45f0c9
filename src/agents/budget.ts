import type { Budget } from '../protocol/jobs.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { Answer } from './adapter.ts';
import type { BudgetUse, JobRuntime } from './job-runtime.ts';
import { isLive } from './job-status.ts';
import type { JobTransaction } from './job-transaction.ts';
import { enqueueInterrupt, enqueueMessage } from './outbox.ts';
import { ask } from './questions.ts';
import { budgetUses } from './usage.ts';

const CHOICES = [
  { id: 'raise', label: 'Raise', description: 'Double this budget and let the agent go on' },
  { id: 'finish', label: 'Finish', description: 'A fifth more, to finish with what it has' },
  { id: 'stop', label: 'Stop', description: 'End the job; its work is kept' },
];

/** Runs after each batch, in its transaction. At 80 % it tells, at 100 % it interrupts and a person is asked. */
export function checkBudget(tx: JobTransaction): void {
  measureBudget(tx);
  const { spent, turn, ending } = tx.runtime;
  if (!spent) return;
  if (turn.is === 'open') enqueueInterrupt(tx, `budget:${tx.job.launch}:${spent.what}:${spent.limit}`);
  // The usage came with the end of the turn: nothing to interrupt, but the next turn needs a decision.
  if (tx.job.status === 'paused' && !ending) askAboutBudget(tx);
}

/** Runs where usage is recorded, before the next line is read: what the agent asks from then on no grant answers. */
export function measureBudget(tx: JobTransaction): void {
  const { jobs } = tx.storage.store;
  const isRoot = tx.job.rootId === tx.job.id;
  const budget = isRoot ? tx.job.budget : (jobs.get(tx.job.rootId)?.job.budget ?? {});
  if (Object.keys(budget).length === 0) return;
  const others = family(tx, tx.job.rootId).filter(({ job }) => job.id !== tx.job.id);
  for (const use of budgetUses(budget, [tx, ...others])) {
    if (use.used >= use.limit * 0.8) announce(tx, use);
    if (use.used >= use.limit) tx.runtime.spent ??= use;
  }
}

function family(tx: JobTransaction, rootId: string): JobRecord<JobRuntime>[] {
  const { jobs } = tx.storage.store;
  const below = (id: string): JobRecord<JobRuntime>[] =>
    jobs.childrenOf<JobRuntime>(id).flatMap((record) => [record, ...below(record.job.id)]);
  const root = jobs.get<JobRuntime>(rootId);
  return root ? [root, ...below(rootId)] : [];
}

function announce(tx: JobTransaction, use: BudgetUse): void {
  const mark = `${use.what}:${use.limit}`;
  if (tx.runtime.announced.includes(mark)) return;
  tx.runtime.announced = [...tx.runtime.announced, mark];
  tx.emit({ type: 'progress', payload: { kind: 'budget', ...use } });
}

/** Call it when the turn is over: the end of a turn withdraws the questions asked before. */
export function askAboutBudget(tx: JobTransaction): void {
  const { spent } = tx.runtime;
  if (!spent) return;
  const question = `The budget of ${spent.limit} ${spent.what} is used up (${spent.used}). What now?`;
  ask(tx, {
    requestId: `reef:budget:${tx.job.launch}:${spent.what}:${spent.limit}`,
    questions: [{ kind: 'choice', question, header: 'Budget', choices: CHOICES }],
    line: { offset: 0, bytes: 0 },
  });
}

/** Only the root's budget counts, so a raise that a child asked for is written there. */
export function decideBudget(tx: JobTransaction, answer: Answer, messageId: string): void {
  const { spent } = tx.runtime;
  const choice = answer.kind === 'choice' ? answer.ids[0] : 'stop';
  if (!spent || choice === 'stop') {
    const message = spent ? `the budget of ${spent.limit} ${spent.what} is used up` : 'stopped';
    tx.runtime.ending = { why: 'failure', fails: { code: 'budget_exhausted', message } };
    return;
  }
  const limit = choice === 'raise' ? spent.limit * 2 : Math.ceil(Math.max(spent.used, spent.limit) * 1.2);
  raise(tx, { [spent.what]: limit });
  tx.runtime.spent = null;
  const text = choice === 'raise' ? 'Continue.' : 'Your budget is nearly used up: finish now with what you have.';
  enqueueMessage(tx, { messageId: `${messageId}:go`, text, by: 'reef:budget', isTask: true });
}

function raise(tx: JobTransaction, more: Budget): void {
  const { jobs } = tx.storage.store;
  if (tx.job.rootId === tx.job.id) {
    tx.job.budget = { ...tx.job.budget, ...more };
    return;
  }
  const root = jobs.get(tx.job.rootId);
  if (!root) return;
  const endedSeq = isLive(root.job.status) ? null : (tx.storage.store.events.tail(root.job.id, 1)[0]?.seq ?? null);
  jobs.update({ ...root, job: { ...root.job, budget: { ...root.job.budget, ...more } } }, endedSeq);
}
