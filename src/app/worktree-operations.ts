import type { JobManager } from '../agents/job-manager.ts';
import type { Clock } from '../base/clock.ts';
import { ReefError, toReefError } from '../protocol/errors.ts';
import type { OperationOutput, WorktreeCore } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import type { DurableEngine } from '../workflow/durable/durable-engine.ts';
import { attemptsOf } from '../workflow/runs/attempts.ts';
import { resolveThem } from '../workflow/runs/give-back.ts';
import type { RunOperations } from '../workflow/runs/operations.ts';
import type { RunSpec } from '../workflow/runs/spec.ts';
import { endRunsIn, type RunStarter } from '../workflow/runs/start.ts';
import type { RunStatus } from '../workflow/runs/status.ts';
import type { Notice } from '../worktrees/deps.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { CodeOperations } from './code-operations.ts';
import { review } from './review.ts';

interface WorktreeOperationsDeps {
  worktrees: GitWorktreeManager;
  newId(): string;
  redact<T>(value: T): T;
  store: Store;
  status: RunStatus;
  starter: RunStarter;
  engine: DurableEngine;
  jobs: JobManager;
  code: CodeOperations;
  operations: RunOperations;
  shellIn(id: string): Promise<OperationOutput<'worktree_shell'>>;
}

export function createWorktreeOperations(deps: WorktreeOperationsDeps): WorktreeCore {
  const { worktrees, store, newId, redact, status, starter, engine, jobs, code, operations, shellIn } = deps;
  return {
    review: (request, caller) => review({ worktrees, store, status, jobs, operations, redact }, request, caller),
    async worktrees({ all }, { surface }) {
      const asked = worktrees.refreshPullRequests();
      if (surface === 'cli') await asked; // a page asks again and again, and waits for no forge
      if (surface === 'web') worktrees.touched(); // and is told when there is more to see
      return redact({ worktrees: await worktrees.list({ all }) });
    },
    async worktree_create({ taskId, cwd, ...task }) {
      const { base } = await worktrees.startingPoint({ cwd, base: task.base });
      const record = await worktrees.submit({ ...task, base, taskId: taskId ?? newId() });
      return record.status === 'queued' ? record : worktrees.whenReady(record.id);
    },
    async worktree_setup({ id }) {
      const view = await worktrees.setup(id);
      // A run may have waited for this set-up.
      if (view.setup.state !== 'failed') starter.recover();
      return view;
    },
    worktree_gates: async ({ id }) => redact(await worktrees.gates(id)),
    base_gates: async (wanted, _caller, signal) => redact(await worktrees.baseGates(wanted, signal)),
    async worktree_update({ id, agent, into }, caller) {
      const updated = await worktrees.update(id, into);
      if (updated.status === 'updated') {
        const gates = await worktrees.gates(updated.id).catch(ifUntrusted);
        return redact({ ...updated, ...(gates && { gates: gates.gates }) });
      }
      if (updated.status === 'current' || agent === undefined) return updated;
      const guidance = resolveThem(updated.target, updated.files);
      const { runId } = await operations.workIn(updated.id, { guidance, agent }, caller);
      return { ...updated, runId };
    },
    worktree_push: async ({ id, ...options }) => redact(await worktrees.push(id, options)),
    worktree_pr: async ({ id, ...options }) => redact(await worktrees.pullRequest(id, options)),
    worktree_shell: ({ id }) => shellIn(worktrees.idOf(id)),
    async diff({ id }, { jobId }) {
      if (jobId !== undefined && worktrees.idOf(id) !== store.jobs.get(jobId)?.job.worktree) {
        throw new ReefError('not_yours', 'a job may look at its own worktree only');
      }
      return redact(await worktrees.diff(id));
    },
    async accept({ id, ...options }) {
      const whole = worktrees.idOf(id);
      const accepted = await worktrees.accept(whole, options);
      // A run that halted has nothing left to ask.
      if (accepted.status === 'merged') await endRunsIn({ store, engine }, whole);
      if (accepted.status !== 'merged') return accepted;
      return { ...accepted, noted: [...accepted.noted, ...(await dropOthers(deps, whole))] };
    },
    worktree_discard: ({ id }) => discard(deps, worktrees.idOf(id)),
    worktree_restore: async ({ ref }) => worktrees.restore(ref),
    async worktree_hold({ id }) {
      const whole = worktrees.idOf(id);
      return worktrees.hold(whole, await status.sessionOf(whole));
    },
    worktree_prune: async ({ yes }) => worktrees.prune({ yes }),
    async conflicts({ plan }) {
      await code.warm(); // overlaps by reference need the servers
      return { report: await worktrees.scan(plan), worktrees: await worktrees.conflicts() };
    },
  };
}

/** Its agents and its run end with it. */
async function discard({ store, engine, worktrees, jobs }: WorktreeOperationsDeps, id: string) {
  await endRunsIn({ store, engine }, id);
  for (const job of worktrees.jobsIn(id)) await jobs.kill({ id: job }, { by: 'reef', surface: 'cli' });
  return worktrees.discard(id);
}

/** One of several attempts at a task was merged: the others go, and their work is kept like that of anything dropped. */
async function dropOthers(deps: WorktreeOperationsDeps, merged: string): Promise<string[]> {
  const [run] = deps.store.runs.byWorktree<RunSpec>(merged);
  const others = run ? attemptsOf(deps.store, run).filter(({ worktreeId }) => worktreeId !== merged) : [];
  const open = new Set(deps.worktrees.openIds());
  const notes: string[] = [];
  for (const { worktreeId, doc } of others) {
    if (!open.has(worktreeId)) continue;
    const left = await discard(deps, worktreeId).then(
      () => `dropped, bring it back: reef worktree restore ${worktreeId}`,
      (error: unknown) => `not dropped: ${toReefError(error).message}`,
    );
    notes.push(`the attempt of ${doc.agent}: ${left}`);
  }
  return notes;
}

function ifUntrusted(error: unknown): undefined {
  if (!(error instanceof ReefError) || error.code !== 'repo_untrusted') throw error;
}

type InboxNotice = OperationOutput<'inbox'>['notices'][number];
const MOST_NOTICES = 50;

/** News of worktrees that need no answer. The daemon keeps the newest while it lives. */
export class NoticeBoard {
  readonly #clock: Clock;
  readonly #changes: Store['changes'];
  #notices: InboxNotice[] = [];

  constructor(clock: Clock, changes: Store['changes']) {
    this.#clock = clock;
    this.#changes = changes;
  }

  readonly post = (notice: Notice): void => {
    const at = this.#clock.now().toISOString();
    const { kind } = notice;
    const told =
      'worktrees' in notice
        ? {
            worktreeId: notice.worktrees[0],
            message: `${notice.worktrees.join(' and ')} change the same lines: ${notice.files.join(', ')}`,
          }
        : { worktreeId: notice.worktreeId, message: notice.message };
    this.#notices = [...this.#notices, { at, kind, ...told }].slice(-MOST_NOTICES);
    this.#changes.tell({ kind: 'inbox' });
  };

  list(): InboxNotice[] {
    return this.#notices;
  }
}
