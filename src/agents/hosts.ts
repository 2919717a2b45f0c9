import { targetText } from '../process/egress/rules.ts';
import type { OperationOutput, OperationRequest } from '../protocol/operations.ts';
import type { AskedQuestion } from './adapter.ts';
import { grantFor } from './grants.ts';
import type { JobStorage, JobTransaction } from './job-transaction.ts';
import type { GivenAnswer } from './outbox.ts';
import { ask, savedGrant } from './questions.ts';

const OF_HOSTS = 'reef:host:';
/** More than this waits for nobody: a person would not read them. */
const MOST_OPEN = 8;
/** How long an allow for once lasts: a program connects several times for one thing. */
const ONCE_MS = 60_000;

export function isOfHost({ requestId }: { requestId: string }): boolean {
  return requestId.startsWith(OF_HOSTS);
}

type Asked = OperationOutput<'ask_host'>;

/** What a person says to a connection of a sandbox to a host that nobody named. Asks, if nobody was asked yet. */
export function askAboutHost(
  tx: JobTransaction,
  { host, port }: Pick<OperationRequest<'ask_host'>, 'host' | 'port'>,
): Asked {
  const where = targetText({ host, port });
  const asked: AskedQuestion = {
    kind: 'permission',
    header: 'Network',
    question: `May programs in its sandbox connect to ${where}? Once means for a minute`,
    tool: 'network',
    input: { host, port },
    wants: { host: where },
  };
  if (savedGrant(tx, grantFor(tx.job, asked))) return { answer: 'allow' };
  const prefix = `${OF_HOSTS}${tx.job.launch}:${where}:`;
  let n = 0;
  let known = hostAnswer(tx.storage, tx.job.id, `${prefix}${n}#0`);
  while (known.questionId !== undefined && known.answer === 'over') {
    n += 1;
    known = hostAnswer(tx.storage, tx.job.id, `${prefix}${n}#0`);
  }
  if (known.questionId !== undefined) return known;
  const { questions } = tx.storage.store;
  const open = questions.unclosedOf(tx.job.id).filter(({ question }) => isOfHost(question));
  if (open.length >= MOST_OPEN) return { answer: 'deny' };
  ask(tx, { requestId: `${prefix}${n}`, questions: [asked], line: { offset: 0, bytes: 0 } });
  return hostAnswer(tx.storage, tx.job.id, `${prefix}${n}#0`);
}

/** A no holds until the agent is started again, so that a program which tries again asks nobody again. */
export function hostAnswer(
  { store, clock }: Pick<JobStorage, 'store' | 'clock'>,
  jobId: string,
  questionId: string,
): Asked {
  const row = store.questions.get<Partial<GivenAnswer>>(jobId, questionId);
  if (!row || !isOfHost(row.question)) return { answer: 'over' };
  if (row.state === 'open') return { answer: 'open', questionId };
  const { answer, at = '' } = row.answer ?? {};
  if (answer?.kind !== 'permission') return { answer: 'over', questionId };
  if (answer.decision === 'deny') return { answer: 'deny', questionId };
  if (answer.decision !== 'allow_once') return { answer: 'allow', questionId };
  const isFresh = clock.now().getTime() - Date.parse(at) < ONCE_MS;
  return { answer: isFresh ? 'allow_once' : 'over', questionId };
}
