import { ReefError } from '../../protocol/errors.ts';

type TaskStatus = 'pending' | 'blocked' | 'in_progress' | 'completed' | 'failed';

export interface NewTask {
  subject: string;
  description?: string | undefined;
  blocked_by?: readonly string[] | undefined;
  /** Who is to do it; started as soon as nothing blocks it. */
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
  /** Why it is blocked or failed. */
  reason?: string;
}

interface Task {
  readonly id: string;
  readonly subject: string;
  readonly description: string;
  readonly blockedBy: readonly string[];
  readonly agent: string | undefined;
  readonly prompt: string;
  state: 'open' | 'in_progress' | 'completed' | 'failed';
  jobId?: string;
  reason?: string;
}

/**
 * Work that depends on other work. A task names tasks that are there already, so there is no way to close a circle;
 * `blocked` is derived and never stored, so a completed dependency cannot go on blocking.
 */
export class TaskQueue {
  readonly #tasks = new Map<string, Task>();

  create(task: NewTask): TaskView {
    const id = String(this.#tasks.size + 1);
    const blockedBy = [...new Set(task.blocked_by ?? [])];
    for (const other of blockedBy) {
      if (other === id) throw new ReefError('task_invalid', `A task cannot wait for itself. ${this.#known()}`);
      this.#find(other);
    }
    const description = task.description ?? '';
    const prompt = task.prompt ?? [task.subject, description].filter((text) => text !== '').join('\n\n');
    const { subject, agent } = task;
    this.#tasks.set(id, { id, subject, description, blockedBy, agent, prompt, state: 'open' });
    return this.view(id);
  }

  /** A dependent can start from here on; completing twice is completing once. */
  complete(id: string): TaskView {
    const task = this.#find(id);
    if (task.state === 'failed') throw new ReefError('task_invalid', `Task ${id} has failed`);
    const waits = task.state === 'open' ? this.#waitsFor(task) : undefined;
    if (waits !== undefined) throw new ReefError('task_invalid', `Task ${id} cannot be completed: ${waits}`);
    task.state = 'completed';
    return this.view(id);
  }

  /** Its dependents stay blocked, with the reason. */
  fail(id: string, reason: string): TaskView {
    const task = this.#find(id);
    if (task.state === 'completed') throw new ReefError('task_invalid', `Task ${id} is completed`);
    task.state = 'failed';
    task.reason ??= reason;
    return this.view(id);
  }

  /** False when it is blocked, over, or somebody's already: what was claimed once is nobody else's. */
  claim(id: string): boolean {
    const task = this.#find(id);
    if (task.state !== 'open' || this.#waitsFor(task) !== undefined) return false;
    task.state = 'in_progress';
    return true;
  }

  /** Nothing that waits for an agent is begun any more. */
  drop(reason: string): void {
    for (const task of this.#tasks.values()) {
      if (task.state === 'open' && task.agent !== undefined) this.fail(task.id, reason);
    }
  }

  assign(id: string, jobId: string): void {
    this.#find(id).jobId = jobId;
  }

  /** Tasks for agents that nothing blocks, in the order they were made. */
  ready(): { id: string; agent: string; prompt: string }[] {
    return [...this.#tasks.values()].flatMap((task) =>
      task.state === 'open' && task.agent !== undefined && this.#waitsFor(task) === undefined
        ? [{ id: task.id, agent: task.agent, prompt: task.prompt }]
        : [],
    );
  }

  list(): TaskView[] {
    return [...this.#tasks.keys()].map((id) => this.view(id));
  }

  view(id: string): TaskView {
    const task = this.#find(id);
    const { subject, description, blockedBy, agent, jobId, state } = task;
    const waits = state === 'open' ? this.#waitsFor(task) : undefined;
    const open = waits === undefined ? 'pending' : 'blocked';
    const reason = waits ?? task.reason;
    return {
      id,
      subject,
      description,
      status: state === 'open' ? open : state,
      blocked_by: blockedBy,
      ...(agent !== undefined && { agent }),
      ...(jobId !== undefined && { job_id: jobId }),
      ...(reason !== undefined && { reason }),
    };
  }

  #waitsFor(task: Task): string | undefined {
    const open = task.blockedBy.map((id) => this.#find(id)).filter(({ state }) => state !== 'completed');
    if (open.length === 0) return undefined;
    return open
      .map(({ id, state, reason }) =>
        state === 'failed' ? `task ${id} failed: ${reason ?? 'no reason'}` : `task ${id} is not completed`,
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
