import type { JobManager } from '../agents/job-manager.ts';
import { isLive } from '../agents/job-status.ts';
import { capText } from '../base/cap.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller, OperationOutput, OperationRequest } from '../protocol/operations.ts';
import type { Halt, RunView } from '../protocol/workflow.ts';
import type { ReviewComment } from '../protocol/worktrees.ts';
import type { Store } from '../store/store.ts';
import { blockIn, parseWorker, SUCCESS } from '../workflow/language/names.ts';
import type { RunOperations } from '../workflow/runs/operations.ts';
import type { RunSpec, StoredRun } from '../workflow/runs/spec.ts';
import type { RunStatus } from '../workflow/runs/status.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { OpenChanges } from '../worktrees/views.ts';

interface ReviewDeps {
  worktrees: GitWorktreeManager;
  store: Store;
  status: RunStatus;
  jobs: JobManager;
  operations: RunOperations;
  redact<T>(value: T): T;
}

type Request = OperationRequest<'review'>;
type Reviewed = Omit<OperationOutput<'review'>, 'message'>;

/** A person's comments on the lines of a worktree become one message to its agent. Refused whole if a file has changed since. */
export async function review(deps: ReviewDeps, request: Request, caller: Caller): Promise<OperationOutput<'review'>> {
  const { comments, text, verdict } = request;
  if (verdict === 'changes' && comments.length === 0 && text === undefined) {
    throw new ReefError('bad_request', 'Nothing to send: give a comment, or a text about all of it.');
  }
  const id = deps.worktrees.idOf(request.worktree);
  const changes = await deps.worktrees.openChanges(id);
  const message = [head(request), ...(await quoted(changes, request)), ...(text === undefined ? [] : [text])].join(
    '\n\n',
  );
  const [run] = deps.store.runs.byWorktree<RunSpec>(id);
  const wanted: Wanted = { message, request, caller };
  const reviewed = run ? await toRun(deps, run, wanted) : await toJob(deps, newestJob(deps, id), wanted);
  return { ...reviewed, message: deps.redact(message) };
}

interface Wanted {
  message: string;
  request: Request;
  caller: Caller;
}

function head({ comments: { length }, verdict }: Request): string {
  const count = length === 0 ? '' : ` ${length === 1 ? '1 comment' : `${length} comments`} on lines of it.`;
  const wish = verdict === 'ok' ? 'agrees with it' : 'asks for changes';
  return `A person has reviewed your work in this worktree and ${wish}.${count}`;
}

async function quoted(changes: OpenChanges, { base, comments }: Request): Promise<string[]> {
  if (base !== undefined && base !== changes.base) {
    const message = `The worktree was compared with ${base.slice(0, 12)}, and its base is ${changes.base.slice(0, 12)} now.`;
    throw new ReefError('review_stale', message, { details: { base: changes.base } });
  }
  const stale = new Set(comments.filter((comment) => !blobOf(changes, comment)).map(({ path }) => path));
  if (stale.size > 0) {
    const files = [...stale];
    throw new ReefError('review_stale', `Changed since they were commented on: ${files.join(', ')}`, {
      details: { files },
    });
  }
  const sorted = [...comments].sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  return Promise.all(sorted.map((comment) => withLine(changes, comment)));
}

const NO_FILE = /^0+$/;

/** Undefined if the file is no longer what the comment is about. */
function blobOf({ changes }: OpenChanges, { path, side, blob }: ReviewComment) {
  const change = changes.find((each) => each.path === path || (side === 'old' && each.from === path));
  const oid = change && (side === 'old' ? change.before : change.after).oid;
  return oid?.startsWith(blob) && !NO_FILE.test(oid) ? oid : undefined;
}

async function withLine(changes: OpenChanges, comment: ReviewComment): Promise<string> {
  const { path, side, line, text } = comment;
  const oid = blobOf(changes, comment);
  const lines = (oid && (await changes.textOf(oid)))?.split('\n');
  const found = lines?.[line - 1];
  if (lines && found === undefined) throw new ReefError('bad_request', `${path} has no line ${line}.`);
  const where = `${path}, line ${line}${side === 'old' ? ' as it was before your change' : ''}:`;
  return [where, ...(found === undefined ? [] : [`> ${capText(found, 500)}`]), text].join('\n');
}

/** One that halted is tried again with the review, one that is over goes on with it; an agent at work is told. */
async function toRun(deps: ReviewDeps, run: StoredRun, wanted: Wanted): Promise<Reviewed> {
  const { message: guidance, request, caller } = wanted;
  const view = await deps.status.view(run);
  const [halt] = view?.halts ?? [];
  const job = liveJobOf(deps, run);
  if (job && !halt) return toJob(deps, job, wanted);
  if (!halt && run.state !== 'over') {
    throw new ReefError('review_unheard', `No agent of the run ${run.id} works right now.`);
  }
  const approval = halt && request.verdict === 'ok' ? approvalOf(halt, view) : undefined;
  if (!approval) refuseEmpty(request);
  const verb = approval ?? (halt ? returnOf(run, halt) : 'continue');
  const at = halt && { block: halt.block, visit: halt.visit, branch: halt.branch };
  const key = request.key === undefined ? {} : { key: request.key };
  const { runId } = await deps.operations.run_control({ id: run.id, verb, guidance, ...at, ...key }, caller);
  return { how: approval ? 'approved' : 'retried', runId };
}

/** Undefined if the run asks for something else than whether the work is good. */
function approvalOf({ options, block, visit }: Halt, view: RunView | undefined): 'approve' | 'resume' | undefined {
  if (options.includes('approve')) return 'approve';
  const { signal } = view?.executionLog[`${block}#${visit}`] ?? {};
  return signal === SUCCESS && options.includes('resume') ? 'resume' : undefined;
}

/** The guidance is for an agent: a gate that is only tried again would say the same. */
function returnOf(run: StoredRun, { block, options }: Halt): 'retry' | 'resume' {
  const isOfAgent = parseWorker(blockIn(run.doc.manifest, block)?.worker ?? '')?.kind === 'agent';
  const verb = isOfAgent ? 'retry' : 'resume';
  if (options.includes(verb)) return verb;
  throw new ReefError('review_unheard', `The run ${run.id} asks first whether it may do ${block}.`);
}

/** The newest of its agents that has not ended. */
function liveJobOf({ store }: ReviewDeps, run: StoredRun): Job | undefined {
  const jobs = store.blocks.ofRun(run.id).map(({ jobId }) => store.jobs.get(jobId)?.job);
  return jobs.findLast((job) => job !== undefined && isLive(job.status));
}

function newestJob({ store }: ReviewDeps, worktreeId: string): Job {
  const id = store.jobs.newestIn(worktreeId);
  const job = id === undefined ? undefined : store.jobs.get(id)?.job;
  if (!job) throw new ReefError('no_job_yet', `No agent has worked in the worktree ${worktreeId} yet.`);
  return job;
}

async function toJob(deps: ReviewDeps, job: Job, { message: text, request, caller }: Wanted): Promise<Reviewed> {
  refuseEmpty(request);
  const key = request.key === undefined ? {} : { key: request.key };
  if (!isLive(job.status)) {
    const { agentId } = await deps.jobs.resume({ id: job.id, text, ...key }, caller);
    return { how: 'resumed', agentId };
  }
  // A text would be taken for the answer.
  if (deps.store.questions.unclosedOf(job.id).some(({ state }) => state === 'open')) {
    throw new ReefError('answer_first', `The agent ${job.id} has asked something and waits for the answer.`);
  }
  const { agentId } = await deps.jobs.send({ id: job.id, text, ...key }, caller);
  return { how: job.status === 'paused' ? 'resumed' : 'delivered', agentId };
}

function refuseEmpty({ comments, text }: Request): void {
  if (comments.length > 0 || text !== undefined) return;
  throw new ReefError(
    'bad_request',
    'Nothing to send: nobody waits for an approval. `reef worktree accept ID` merges it.',
  );
}
