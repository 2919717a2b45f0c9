import type { Clock } from '../base/clock.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, OperationOutput, OperationRequest, WorktreeCore } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import type { RunStatus } from '../workflow/runs/status.ts';
import type { Notice } from '../worktrees/deps.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';

interface WorktreeOperationsDeps {
  worktrees: GitWorktreeManager;
  newId(): string;
  redact<T>(value: T): T;
  store: Store;
  status: RunStatus;
  /** Ends the runs and jobs in a worktree, and of no other. */
  endWork(worktreeId: string): Promise<void>;
  /** So that overlaps by reference are known. */
  code: { warm(): Promise<void> };
  /** A set-up that works now lets a run begin that waited for it. */
  onSetUp(): void;
}

/** Every operation on worktrees, for every surface. */
export class WorktreeOperations implements WorktreeCore {
  readonly #deps: WorktreeOperationsDeps;

  constructor(deps: WorktreeOperationsDeps) {
    this.#deps = deps;
  }

  get #manager(): GitWorktreeManager {
    return this.#deps.worktrees;
  }

  async worktrees({ all }: OperationRequest<'worktrees'>): Promise<OperationOutput<'worktrees'>> {
    return { worktrees: await this.#manager.list({ all }) };
  }

  async worktree_create({ taskId, ...task }: OperationRequest<'worktree_create'>) {
    const record = await this.#manager.submit({ ...task, taskId: taskId ?? this.#deps.newId() });
    return record.status === 'queued' ? record : this.#manager.whenReady(record.id);
  }

  async worktree_setup({ id }: OperationRequest<'worktree_setup'>) {
    const view = await this.#manager.setup(id);
    if (view.setup.state !== 'failed') this.#deps.onSetUp();
    return view;
  }

  /** A job sees the changes of its own worktree. */
  async diff({ id }: OperationRequest<'diff'>, { jobId }: Caller) {
    const { worktrees, store } = this.#deps;
    if (jobId !== undefined && worktrees.idOf(id) !== store.jobs.get(jobId)?.job.worktree) {
      throw new ReefError('not_yours', 'a job may look at its own worktree only');
    }
    return this.#deps.redact(await this.#manager.diff(id));
  }

  async accept({ id, ...options }: OperationRequest<'accept'>) {
    return this.#manager.accept(id, options);
  }

  async worktree_discard({ id }: OperationRequest<'worktree_discard'>) {
    const whole = this.#manager.idOf(id);
    await this.#deps.endWork(whole);
    return this.#manager.discard(whole);
  }

  async worktree_restore({ ref }: OperationRequest<'worktree_restore'>) {
    return this.#manager.restore(ref);
  }

  async worktree_hold({ id }: OperationRequest<'worktree_hold'>) {
    const whole = this.#manager.idOf(id);
    return this.#manager.hold(whole, await this.#deps.status.sessionOf(whole));
  }

  async worktree_prune({ yes }: OperationRequest<'worktree_prune'>) {
    return this.#manager.prune({ yes });
  }

  async conflicts({ plan }: OperationRequest<'conflicts'>): Promise<OperationOutput<'conflicts'>> {
    await this.#deps.code.warm();
    return { report: await this.#manager.scan(plan), worktrees: await this.#manager.conflicts() };
  }
}

type InboxNotice = OperationOutput<'inbox'>['notices'][number];
const MOST_NOTICES = 50;

/** What people should know of worktrees and nobody waits for; the newest, while the daemon lives. */
export class NoticeBoard {
  readonly #clock: Clock;
  #notices: InboxNotice[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
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
  };

  list(): InboxNotice[] {
    return [...this.#notices];
  }
}
