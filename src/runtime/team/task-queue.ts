import { ReefError } from '../../protocol/errors.ts';

type TaskStatus = 'pending' | 'blocked' | 'in_progress' | 'completed' | 'failed';

export interface NewTask {
  subject: string;
  description?: string | undefined;
  blocked_by?: readonly string[] | undefined;
  /** Started on the task as soon as nothing blocks it. */
  agent?: string | undefined;
  prompt?: string | undefined;
}

export interface TaskView {
  id: string;
  subject: string;
  description: string;
  status: TaskStatus;
  blocked_by: readonly string[];
  agent?: string;
  /** The job that works on it. */
  job_id?: string;
  /** Why it is blocked or has failed. */
  reason?: string;
}

interface Task extends Omit<TaskView, 'status'> {
  readonly prompt: string;
  status: Exclude<TaskStatus, 'blocked'>;
}

/**
 * Tasks that depend on other tasks. A task can only name existing ones, so there are no cycles. `blocked` is derived and never
 * stored, so a completed dependency cannot go on blocking.
 */
export class TaskQueue {
  readonly #tasks = new Map<string, Task>();

  create(task: NewTask): TaskView {
    const id = String(this.#tasks.size + 1);
    const blocked_by = [...new Set(task.blocked_by ?? [])];
    for (const other of blocked_by) {
      if (other === id) throw new ReefError('task_invalid', `A task cannot wait for itself. ${this.#known()}`);
      this.#find(other);
    }
    const description = task.description ?? '';
    const prompt = task.prompt ?? [task.subject, description].filter((text) => text !== '').join('\n\n');
    const { subject, agent } = task;
    const status = 'pending';
    this.#tasks.set(id, { id, subject, description, status, blocked_by, ...(agent && { agent }), prompt });
    return this.view(id);
  }

  /** Unblocks the tasks that depend on it. Completing twice is no error. */
  complete(id: string): TaskView {
    const task = this.#find(id);
    if (task.status === 'failed') throw new ReefError('task_invalid', `Task ${id} has failed`);
    const waits = this.#waitsFor(task);
    if (waits !== undefined) throw new ReefError('task_invalid', `Task ${id} cannot be completed: ${waits}`);
    task.status = 'completed';
    return this.view(id);
  }

  /** The tasks that depend on it stay blocked, with the reason. */
  fail(id: string, reason: string): TaskView {
    const task = this.#find(id);
    if (task.status === 'completed') throw new ReefError('task_invalid', `Task ${id} is completed`);
    task.status = 'failed';
    task.reason ??= reason;
    return this.view(id);
  }

  /** False when the task is blocked, over, or already claimed. */
  claim(id: string): boolean {
    const task = this.#find(id);
    if (!this.#isReady(task)) return false;
    task.status = 'in_progress';
    return true;
  }

  /** Fails every task that still waits for an agent. */
  drop(reason: string): void {
    for (const task of this.#tasks.values()) {
      if (task.status === 'pending' && task.agent !== undefined) this.fail(task.id, reason);
    }
  }

  assign(id: string, jobId: string): void {
    this.#find(id).job_id = jobId;
  }

  /** Unblocked tasks for agents, in the order they were made. */
  ready(): { id: string; agent: string; prompt: string }[] {
    return [...this.#tasks.values()].flatMap((task) =>
      task.agent !== undefined && this.#isReady(task) ? [{ id: task.id, agent: task.agent, prompt: task.prompt }] : [],
    );
  }

  list(): TaskView[] {
    return [...this.#tasks.keys()].map((id) => this.view(id));
  }

  view(id: string): TaskView {
    const task = this.#find(id);
    const { prompt: _, ...view } = task;
    const reason = this.#waitsFor(task);
    return reason === undefined ? view : { ...view, status: 'blocked', reason };
  }

  #isReady(task: Task): boolean {
    return task.status === 'pending' && this.#waitsFor(task) === undefined;
  }

  #waitsFor(task: Task): string | undefined {
    const open = task.blocked_by.map((id) => this.#find(id)).filter(({ status }) => status !== 'completed');
    if (task.status !== 'pending' || open.length === 0) return undefined;
    return open
      .map(({ id, status, reason }) =>
        status === 'failed' ? `task ${id} failed: ${reason ?? 'no reason'}` : `task ${id} is not completed`,
      )
      .join('; ');
  }

  #find(id: string): Task {
    const task = this.#tasks.get(id);
    if (!task) throw new ReefError('task_unknown', `There is no task ${JSON.stringify(id)}. ${this.#known()}`);
    return task;
  }

  #known(): string {
    const ids = [...this.#tasks.keys()].join(', ');
    return ids === '' ? 'There are no tasks yet.' : `Tasks: ${ids}.`;
  }
}
