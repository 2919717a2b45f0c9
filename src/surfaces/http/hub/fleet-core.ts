import { systemClock } from '../../../base/clock.ts';
import type { Database, Queries } from '../../../fleet/database/database.ts';
import type { FleetTokens } from '../../../fleet/hub/fleet-tokens.ts';
import { listRuns } from '../../../fleet/hub/fleet-view.ts';
import { refuseForeignRepository } from '../../../fleet/hub/rights.ts';
import { askHost, commandResult } from '../../../fleet/store/commands.ts';
import { answerOutcome, answerQuestion, openQuestions } from '../../../fleet/store/inbox.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { JobView } from '../../../protocol/job-operations.ts';
import {
  type Caller,
  type Core,
  type OperationName,
  type OperationRequest,
  operations,
} from '../../../protocol/operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';

const LOOK_MS = 100;
const PATIENCE_MS = 20_000;
const LAST_JOBS = 20;

interface Call {
  database: Database;
  caller: Caller;
  signal: AbortSignal;
  /** Undefined: all. */
  repositories: string[] | undefined;
}

/**
 * The operations of a home, over all hosts: what the database knows is answered from it, and what is of one job or run is
 * asked of the host that has it.
 */
export function fleetCore(database: Database, tokens: Pick<FleetTokens, 'personNamed'>): Core {
  const operate = (name: OperationName) => async (input: unknown, caller: Caller, signal: AbortSignal) => {
    const repositories = tokens.personNamed(caller.by)?.repositories;
    if (repositories === undefined) throw new ReefError('role_forbidden', `${caller.by} is no person of the fleet`);
    return perform(name, input, { database, caller, signal, repositories: repositories ?? undefined });
  };
  return Object.fromEntries(
    Object.keys(operations).map((name) => [name, operate(name as OperationName)]),
  ) as unknown as Core;
}

async function perform(name: OperationName, input: unknown, call: Call): Promise<unknown> {
  const { id } = input as { id?: string };
  if (name === 'inbox') return inbox(call);
  if (name === 'status' && id === undefined) return { jobs: await jobs(call) };
  if (name === 'runs') return { runs: await runs(call) };
  if (name === 'worktrees') return { worktrees: [] };
  if (name === 'send' && 'questionId' in (input as object)) return answer(input as OperationRequest<'send'>, call);
  if (id === undefined) throw new ReefError('not_found', `A fleet has no ${name}: name a job or a run`);
  return forward(name, { ...(input as object), id }, call);
}

async function inbox({ database, repositories }: Call): Promise<unknown> {
  const questions = await openQuestions(database, repositories);
  const entries = questions.map(({ doc, host, repository, answeredBy }) => ({
    ...doc,
    host,
    repository,
    ...(answeredBy !== null && { answeredBy }),
  }));
  return { questions: entries, notices: [] };
}

async function jobs({ database, repositories }: Call): Promise<(JobView & { host: string; repository: string })[]> {
  const rows = await database.query<{ doc: JobView; host: string; repository: string }>(
    `SELECT doc, host, repository FROM (SELECT doc, host, repository, status, updated_at, row_number() OVER (
         PARTITION BY status IN ('completed', 'error', 'killed', 'stale') ORDER BY updated_at DESC) AS place
       FROM reef.job WHERE $1::text[] IS NULL OR repository = ANY($1)) AS job
     WHERE place <= CASE WHEN status IN ('completed', 'error', 'killed', 'stale') THEN $2 ELSE 1000 END ORDER BY updated_at`,
    [repositories ?? null, LAST_JOBS],
  );
  return rows.map(({ doc, host, repository }) => ({ ...doc, host, repository }));
}

const RUN_STATUS: Readonly<Record<string, RunSummary['status']>> = {
  queued: 'queued',
  running: 'running',
  halted: 'halted',
  parked: 'halted',
  cancelled: 'aborted',
};

/** As far as the database knows them; the host that has one knows the rest. */
async function runs({
  database,
  repositories,
}: Call): Promise<(RunSummary & { repository: string; host: string | null })[]> {
  const rows = await listRuns(database, { repositories });
  return rows.map(({ id, task, status, repository, host, outcome, queuedAt, endedAt }) => ({
    runId: id,
    task,
    workflow: '',
    worktree: '',
    path: null,
    status: RUN_STATUS[status] ?? (outcome === 'success' ? 'success' : 'failure'),
    block: null,
    visit: null,
    createdAt: queuedAt.toISOString(),
    ...(endedAt && { endedAt: endedAt.toISOString() }),
    repository,
    host,
  }));
}

/** The answer to a question is first of all in the database; when it is at the agent, `send` has its usual answer. */
async function answer(input: OperationRequest<'send'>, call: Call): Promise<unknown> {
  const { id, questionId = '', text, option, decision, reason, fingerprint } = input;
  const { database, caller } = call;
  const found = (await openQuestions(database, call.repositories)).find(
    (each) => each.doc.questionId === questionId && each.doc.jobId === id,
  );
  const question = found?.id ?? (await closedQuestion(database, { id, questionId }, call));
  const value = { text, option, decision, reason, fingerprint };
  const answerId = await answerQuestion(database, { question, value, by: caller.by });
  const outcome = await until(call, () => answerOutcome(database, answerId)).catch((error: unknown) => {
    // It is kept, and its host passes it on when it is back.
    if (error instanceof ReefError && error.code === 'storage_unavailable') return undefined;
    throw error;
  });
  return { agentId: id, status: 'running', delivered: outcome !== undefined, messageId: answerId };
}

async function closedQuestion(
  queries: Queries,
  { id, questionId }: { id: string; questionId: string },
  { repositories }: Call,
): Promise<string> {
  const [row] = await queries.query<{ id: string }>(
    `SELECT id FROM reef.question WHERE key = $2 AND coalesce(job, run) = $1 AND ($3::text[] IS NULL OR repository = ANY($3))`,
    [id, questionId, repositories ?? null],
  );
  if (!row) throw new ReefError('question_not_found', `There is no question ${questionId} of ${id}`);
  return row.id;
}

async function forward(name: OperationName, input: { id: string }, call: Call): Promise<unknown> {
  const { database, caller, repositories } = call;
  const { host, repository } = await placeOf(database, input.id);
  if (repositories) refuseForeignRepository({ by: caller.by, person: { repositories } as never }, repository);
  const n = await askHost(database, { host, repository, op: name, input, by: caller.by });
  const { value } = await until(call, () => commandResult(database, n));
  return value;
}

/** Which host has the job or run of this id. */
async function placeOf(queries: Queries, id: string): Promise<{ host: string; repository: string }> {
  const [row] = await queries.query<{ host: string | null; repository: string; state: string | null }>(
    `SELECT place.host, place.repository, h.state FROM (
       SELECT host, repository FROM reef.job WHERE id = $1 UNION ALL
       SELECT coalesce(host, last_host), repository FROM reef.run WHERE id = $1) AS place
     LEFT JOIN reef.host h ON h.id = place.host LIMIT 1`,
    [id],
  );
  if (!row) throw new ReefError('job_not_found', `The fleet has no job and no run ${id}`);
  const { host, repository, state } = row;
  if (host === null) throw new ReefError('no_job_yet', `${id} waits for a host`);
  if (state === 'lost' || state === 'gone') {
    throw new ReefError('artifact_unreachable', `Host ${host}, which has ${id}, is ${state}`, { details: { host } });
  }
  return { host, repository };
}

/** Looks until there is something; the host may be slow or away. */
async function until<T>({ signal }: Call, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = systemClock.monotonicMs() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (systemClock.monotonicMs() > deadline) {
      throw new ReefError('storage_unavailable', 'The host has not answered yet; what was asked is kept for it');
    }
    await systemClock.sleep(LOOK_MS, signal);
  }
}
