import type { ChangeSignal } from '../events/change-signal.ts';
import type { Caller, Core, OperationName, OperationOutput, OperationRequest } from '../protocol/operations.ts';
import { isUnderWay, type RunSummary } from '../protocol/run-operations.ts';
import type { Kind, TaskNames } from './task-names.ts';

interface NamingDeps {
  core: Core;
  names: TaskNames;
  signal: ChangeSignal;
}

type KeysOf<N extends OperationName> = keyof OperationRequest<N>;
type HasId<N extends OperationName> = string extends KeysOf<N> ? false : 'id' extends KeysOf<N> ? true : false;
type WithId = { [N in OperationName]: HasId<N> extends true ? N : never }[OperationName];

/** Which part of a task the `id` of an operation names. `other`: it is no task, or the operation decides below. */
const PARTS: Record<WithId, Kind | 'other'> = {
  ...{ output: 'job', job_log: 'job', interrupt: 'job', context_calls: 'job' },
  ...{
    run_status: 'run',
    run_follow: 'run',
    run_compare: 'run',
    run_review: 'run',
    run_control: 'run',
    run_from_pr: 'run',
    run_replay: 'run',
    run_log: 'run',
  },
  ...{ diff: 'worktree', accept: 'worktree', worktree_setup: 'worktree', worktree_gates: 'worktree' },
  ...{ worktree_update: 'worktree', worktree_push: 'worktree', worktree_pr: 'worktree' },
  ...{ worktree_shell: 'worktree' },
  ...{ worktree_discard: 'worktree', worktree_hold: 'worktree' },
  ...{ status: 'other', send: 'other', kill: 'other', resume: 'other' },
  ...{ artifact_read: 'other', todo: 'other' },
};

type Call = (request: { id?: string }, caller: Caller, signal: AbortSignal) => Promise<unknown>;

/** The same operations, for people who name tasks. A job names what is its own by whole ids, and nothing is looked up for it. */
export function namingTasks(deps: NamingDeps): Core {
  const { core, names } = deps;
  const byPart = Object.entries(PARTS).flatMap(([name, kind]) => {
    if (kind === 'other') return [];
    const call = core[name as OperationName] as unknown as Call;
    const resolved: Call = (request, ...rest) =>
      call(request.id === undefined ? request : { ...request, id: names.part(request.id, kind) }, ...rest);
    return [[name, resolved] as const];
  });
  const named: Record<string, unknown> = { ...Object.fromEntries(byPart), ...decidedByState(deps) };
  const forBoth = Object.entries(named).map(([name, forPeople]) => {
    const chosen: Call = async (request, caller, signal) => {
      const call = caller.jobId === undefined ? forPeople : core[name as OperationName];
      return (call as Call)(request, caller, signal);
    };
    return [name, chosen];
  });
  return { ...core, ...Object.fromEntries(forBoth) };
}

/** Operations for which it depends on the state of the task whether its run or its job is meant. */
type Decided = Pick<Core, 'send' | 'kill' | 'resume' | 'status' | 'wait' | 'review' | 'worktree_restore'>;

function decidedByState(deps: NamingDeps): Decided {
  const { core, names } = deps;
  return {
    send: (request, ...rest) => core.send({ ...request, id: names.listener(request.id) }, ...rest),
    kill: (request, ...rest) => core.kill({ ...request, id: names.whole(request.id)?.id ?? request.id }, ...rest),
    async resume(request, caller, signal) {
      const id = names.resumable(request.id);
      if (!names.isHalted(id)) return core.resume({ ...request, id }, caller, signal);
      const { text: guidance, key } = request;
      await core.run_control(
        { id, verb: 'resume', ...(guidance && { guidance }), ...(key && { key }) },
        caller,
        signal,
      );
      return { agentId: id, status: 'running', launch: 0 };
    },
    async status(request, caller, signal) {
      const whole = request.id === undefined ? undefined : names.whole(request.id);
      if (whole?.kind !== 'run') return core.status({ ...request, ...(whole && { id: whole.id }) }, caller, signal);
      const { runs } = await core.run_status(quick(whole.id), caller, signal);
      const id = names.jobOfRun(whole.id);
      const { jobs } = id === undefined ? { jobs: [] } : await core.status({ id }, caller, signal);
      return { jobs, runs };
    },
    review: (request, ...rest) =>
      core.review({ ...request, worktree: names.part(request.worktree, 'worktree') }, ...rest),
    worktree_restore: ({ ref }, ...rest) =>
      core.worktree_restore({ ref: ref.startsWith('refs/') ? ref : names.part(ref, 'worktree') }, ...rest),
    wait: (request, caller, signal) => waitForTasks(deps, { request, caller, signal }),
  };
}

const quick = (id: string) => ({ id, waitMs: 0, until: 'done' }) as const;

interface Waiting {
  request: OperationRequest<'wait'>;
  caller: Caller;
  signal: AbortSignal;
}

/** Waits for jobs as before; a run counts as one job from its first agent to its last. */
async function waitForTasks(deps: NamingDeps, { request, caller, signal }: Waiting): Promise<OperationOutput<'wait'>> {
  const { core, names } = deps;
  const meant = request.ids.map((text) => names.whole(text) ?? { kind: 'job', id: text });
  const idsOf = (wanted: string) => meant.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const [runIds, ids] = [idsOf('run'), idsOf('job')];
  if (runIds.length === 0) return core.wait({ ...request, ids }, caller, signal);
  const look = async () => {
    const seen = await Promise.all(runIds.map((id) => core.run_status(quick(id), caller, signal)));
    const runs = seen.flatMap((each) => each.runs);
    const rest = ids.length === 0 ? undefined : await core.wait({ ...request, ids, timeoutMs: 0 }, caller, signal);
    return { runs, jobs: rest?.jobs ?? [], ...verdict(runs, rest, request.until) };
  };
  return deps.signal.until(look, {
    isMet: ({ met, because }) => met || because !== undefined,
    timeoutMs: request.timeoutMs,
    signal,
  });
}

function verdict(
  runs: readonly RunSummary[],
  rest: OperationOutput<'wait'> | undefined,
  until: OperationRequest<'wait'>['until'],
): Pick<OperationOutput<'wait'>, 'met' | 'because'> {
  const asks = runs.some(({ status }) => status === 'halted' || status === 'awaiting_input');
  const isForAnswer = until.includes('needs_input');
  if (isForAnswer && (asks || rest?.jobs.some((job) => job.awaiting_input))) return { met: true };
  const held = runs.flatMap((run) => (run.behind ? [`Run ${run.runId} ${run.because}.`] : []));
  const areOver = runs.every(isOver) && !asks;
  const isForEnd = until.includes('done') || until.includes('idle');
  if (areOver && isForEnd) return { met: rest?.met ?? true, ...(rest?.because && { because: rest.because }) };
  const isRestAtEnd = rest === undefined || rest.met || rest.because !== undefined;
  const areAtRest = runs.every((run) => !isUnderWay(run)) && !asks && isRestAtEnd;
  // An end has to come for all of them; a question of one that is at work would do.
  if (!areAtRest && (held.length === 0 || isForAnswer)) return { met: false };
  const ended = runs.filter(isOver).map(({ runId, status }) => `Run ${runId} has ended (${status}).`);
  return { met: false, because: [...held, ...ended, ...(rest?.because ? [rest.because] : [])].join(' ') };
}

const isOver = ({ status }: RunSummary) => status !== 'queued' && status !== 'running';
