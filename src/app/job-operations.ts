import type { JobManager } from '../agents/job-manager.ts';
import type { Clock } from '../base/clock.ts';
import { timeOfDay } from '../base/time-of-day.ts';
import { ReefError } from '../protocol/errors.ts';
import type { InboxEntry, JobView } from '../protocol/job-operations.ts';
import {
  type Caller,
  type Core,
  type JobCore,
  type OperationOutput,
  type OperationRequest,
  operations,
} from '../protocol/operations.ts';
import { type Halt, haltVerbSchema } from '../protocol/workflow.ts';
import type { Store } from '../store/store.ts';
import { isOfBudget } from '../workflow/runs/block-agents.ts';
import type { RunOperations } from '../workflow/runs/operations.ts';
import { blockOf, findRun, findTheirRun, jobsAbove, type StoredRun } from '../workflow/runs/spec.ts';
import type { RunStatus } from '../workflow/runs/status.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import { titleOf } from '../worktrees/queue.ts';
import type { RecordOperations } from './record-operations.ts';
import { restingJobs } from './resting-jobs.ts';
import type { StateOperations } from './state-operations.ts';
import type { TaskNames } from './task-names.ts';
import type { NoticeBoard } from './worktree-operations.ts';

interface JobOperationsDeps {
  clock: Clock;
  jobs: JobManager;
  store: Store;
  runs: RunOperations;
  status: RunStatus;
  worktrees: GitWorktreeManager;
  names: Pick<TaskNames, 'standing'>;
  notices: NoticeBoard;
  newId(): string;
  /** Starts the jobs that wait for this worktree once it is made, or tells them that it never will be. */
  awaitWorktree(worktreeId: string): void;
  states: StateOperations;
}

/** The operations on jobs that need more than the job manager: a worktree to work in, and one inbox for jobs and runs. */
export function createJobOperations(deps: JobOperationsDeps): JobCore {
  const { jobs } = deps;
  return {
    ...bindMethods(jobs, 'output', 'interrupt', 'resume', 'ask_host'),
    status: async (request, caller) => asTasked(deps, await jobs.status(request, caller)),
    wait: async (request, caller, signal) => asTasked(deps, await jobs.wait(request, caller, signal)),
    spawn: async (request, caller) =>
      jobs.spawn({ ...request, ...(await assignWorktree(deps, request, caller)) }, caller),
    send: (request, caller) =>
      isRun(deps, request.id) ? answerRun(deps, request, caller) : jobs.send(request, caller),
    kill: (request, caller) => (isRun(deps, request.id) ? endRun(deps, request, caller) : jobs.kill(request, caller)),
    inbox: (request, caller) => inbox(deps, request, caller),
  };
}

/** What a person asked for. A job of a block shows the task of its run, not the prompt made of it; `calls` shows that. */
function asTasked<T extends { jobs: JobView[] }>({ store }: JobOperationsDeps, found: T): T {
  const tasks = store.blocks.tasks(found.jobs.map(({ id }) => id));
  return { ...found, jobs: found.jobs.map((job) => ({ ...job, task: tasks.get(job.id) ?? job.task })) };
}

/** An id means that worktree, for a job only its own; for a person also a title or a folder. Any other name means a new one; an empty name takes that of the task. */
async function assignWorktree(
  deps: JobOperationsDeps,
  { agent, worktree, plan, anyway, task, cwd }: OperationRequest<'spawn'>,
  { jobId }: Caller,
) {
  if (worktree === undefined) return {};
  const { worktrees, names, store, newId, awaitWorktree } = deps;
  const name = (jobId === undefined && names.standing(worktree)) || worktree;
  const known = name === '' ? undefined : await existing(worktrees, name);
  const own = jobId === undefined ? known?.id : store.jobs.get(jobId)?.job.worktree;
  if (known && known.id !== own) throw new ReefError('not_yours', 'a job works in its own worktree, or in a new one');
  const title = worktree === '' ? titleOf(task) : worktree;
  const start = async () => (await worktrees.startingPoint({ cwd })).base;
  const { id } = known ?? (await worktrees.submit({ taskId: newId(), title, plan, anyway, base: await start() }));
  awaitWorktree(id);
  const brief = known?.path ? await deps.states.briefOf({ agent, worktree: id, cwd: known.path }) : '';
  return { worktree: id, brief };
}

async function existing(worktrees: GitWorktreeManager, name: string) {
  return worktrees.view(name).catch((error: unknown) => {
    if (error instanceof ReefError && error.code === 'worktree_not_found') return undefined;
    throw error;
  });
}

function isRun({ store }: JobOperationsDeps, id: string): boolean {
  const wanted = id.toUpperCase();
  const isOfRuns = id !== '@last' && store.runs.idsByPrefix(wanted).length > 0;
  if (!isOfRuns || store.runs.get(wanted)) return isOfRuns;
  if (store.jobs.idsByPrefix(wanted).length === 0) return true;
  throw new ReefError('ambiguous_id', `"${id}" is the beginning of a job and of a run`);
}

async function inbox(
  { jobs, store, status, notices, clock }: JobOperationsDeps,
  request: OperationRequest<'inbox'>,
  caller: Caller,
) {
  const asked = await jobs.inbox(request, caller);
  const questions = asked.questions.flatMap((question) => {
    const at = blockOf(store, question.jobId);
    if (!at) return [question];
    const isForReef = at.jobId === question.jobId && isOfBudget(question);
    const task = store.blocks.tasks([question.jobId]).get(question.jobId) ?? question.task;
    return isForReef ? [] : [{ ...question, task, runId: at.runId, block: at.block }];
  });
  if (request.whole !== undefined) return { questions, notices: [] };
  const waits = store.journal.openWaits();
  const askedAt = (key: string, run: StoredRun) => waits.find((wait) => wait.key === key && wait.runId === run.id)?.at;
  const halts = (await status.halted(caller)).flatMap(({ run, path, halts: of }) =>
    of.map((halt) =>
      haltEntry(run, halt, {
        path: [...jobsAbove(store, run.doc.leave.parentId), run.id],
        cwd: path ?? '',
        askedAt: askedAt(halt.key, run) ?? run.doc.createdAt,
        now: clock.now(),
      }),
    ),
  );
  if (caller.jobId !== undefined) return { questions: [...questions, ...halts], notices: [] };
  const { jobs: all } = await jobs.status({}, caller);
  return { questions: [...questions, ...halts], notices: [...notices.list(), ...restingJobs(store, all, clock.now())] };
}

/** A halt as a question of the inbox: its verbs are the options, and a text goes along as guidance. */
function haltEntry(
  run: StoredRun,
  halt: Halt,
  { now, ...at }: Pick<InboxEntry, 'path' | 'cwd' | 'askedAt'> & { now: Date },
): InboxEntry {
  const { block, visit, message, excerpt, reason, key, options, goesOnAt } = halt;
  const later = goesOnAt === undefined ? [] : [`It goes on by itself at ${timeOfDay(new Date(goesOnAt), now)}.`];
  return {
    question: [message, ...(excerpt === undefined ? [] : [excerpt]), ...later].join('\n'),
    options,
    kind: 'choice',
    questionId: key,
    requestId: key,
    fingerprint: `${block}#${visit}`,
    choices: options.map((verb) => ({ id: verb, label: verb })),
    multi: false,
    freeText: true,
    secret: false,
    header: reason,
    jobId: run.id,
    runId: run.id,
    block,
    agent: 'workflow',
    task: run.doc.task,
    ...at,
  };
}

async function answerRun(
  deps: JobOperationsDeps,
  request: OperationRequest<'send'>,
  caller: Caller,
): Promise<OperationOutput<'send'>> {
  if (caller.jobId !== undefined) throw new ReefError('not_yours', 'only people answer a run');
  const run = findRun(deps.store, request.id);
  const halted = (await deps.status.halted(caller)).find((each) => each.run.id === run.id)?.halts ?? [];
  const halt = halted.find(({ key }) => request.questionId === undefined || key === request.questionId);
  if (!halt) throw new ReefError('run_not_halted', `The run ${run.id} does not wait for an answer.`);
  const [option = 'resume'] = request.option ?? [];
  const verb = haltVerbSchema.safeParse(typeof option === 'number' ? halt.options[option - 1] : option);
  if (!verb.success) throw new ReefError('bad_option', `choose one of ${halt.options.join(', ')}`);
  const { block, visit, branch } = halt;
  const more = {
    ...(request.text !== undefined && { guidance: request.text }),
    ...(request.key !== undefined && { key: request.key }),
  };
  await deps.runs.run_control({ id: run.id, verb: verb.data, block, visit, branch, ...more }, caller);
  return { agentId: run.id, status: 'running', delivered: true, messageId: halt.key };
}

/** How the end of a run is shown among jobs. */
const ENDED = { success: 'completed', failure: 'error', broken: 'error' } as const;

async function endRun(
  { store, runs }: JobOperationsDeps,
  { id }: OperationRequest<'kill'>,
  caller: Caller,
): Promise<OperationOutput<'kill'>> {
  const { runId, status, because } = await runs.end(findTheirRun(store, id, caller), caller.by);
  const isEnded = status === 'success' || status === 'failure' || status === 'broken';
  return { agentId: runId, status: isEnded ? ENDED[status] : 'killed', finalOutput: because ?? '' };
}

const NO_REPOSITORY = new ReefError('not_a_repository', 'This home belongs to no repository.');

/** Without a repository jobs are served; every other operation is refused with the reason. */
export function withoutRepository(jobs: JobManager, records: RecordOperations, reason = NO_REPOSITORY): Core {
  const refuse = () => Promise.reject(new ReefError(reason.code, reason.message, { cause: reason }));
  const refusing = Object.fromEntries(Object.keys(operations).map((name) => [name, refuse])) as unknown as Core;
  const served = bindMethods(
    jobs,
    'spawn',
    'status',
    'send',
    'output',
    'kill',
    'wait',
    'interrupt',
    'resume',
    'inbox',
    'ask_host',
  );
  return { ...refusing, ...served, ...bindMethods(records, 'usage', 'job_log', 'events', 'prune') };
}

/** The named methods, bound to their object. */
export function bindMethods<T extends object, K extends keyof T>(object: T, ...names: K[]): Pick<T, K> {
  const entries = names.map((name) => [name, (object[name] as (...args: unknown[]) => unknown).bind(object)]);
  return Object.fromEntries(entries) as Pick<T, K>;
}
