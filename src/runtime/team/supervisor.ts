import { Limiter } from '../../base/serial.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import type { Inbox, InboxMessage, Supervisor } from '../state/scope.ts';
import { type Child, Children } from './children.ts';
import type { Escalation, JobEnd, JobPort } from './job-port.ts';
import { type NewTask, TaskQueue, type TaskView } from './task-queue.ts';

/** Shortens a long output and stores the whole in a file. */
export type Summarise = (child: { id: string; agent: string }, output: string, signal: AbortSignal) => Promise<Summary>;
interface Summary {
  output: string;
  full_output?: string;
}

export interface SupervisorDeps {
  spec: AgentSpec;
  selfId: string;
  depth: number;
  /** The root's limit, which binds the whole tree. */
  maxDepth: number;
  cwd: string;
  jobs: JobPort;
  inbox: Inbox;
  /** True for an agent that Reef runs itself, false for an external program. */
  isNative(agent: string): boolean;
  summarise: Summarise;
  parent?: TeamSupervisor | undefined;
}

interface ChildRequest {
  agent: string;
  prompt: string;
  task_id?: string | undefined;
  plan?: readonly string[] | undefined;
}

interface ChildView {
  id: string;
  agent: string;
  status: string;
}

const viewOf = ({ id, agent, end }: Child): ChildView => ({ id, agent, status: end?.status ?? 'running' });

export type Collected = { id: string; agent: string; exit_status: string; status: JobEnd['status'] } & Summary;
export interface Pending {
  status: 'pending_escalations';
  id: string;
  agent: string;
  pending_escalations: readonly Escalation[];
}

const PREFIX = 'native:';

/** The children of one agent, from their start until their results are collected. */
export class TeamSupervisor implements Supervisor {
  readonly agentId: string;
  readonly maxDepth: number;
  readonly #deps: SupervisorDeps;
  readonly #children = new Children();
  readonly #tasks = new TaskQueue();
  readonly #told = new Set<string>();
  readonly #closing = new AbortController();
  readonly #dispatching = new Limiter();

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.agentId = deps.selfId;
    this.maxDepth = deps.maxDepth;
  }

  async spawn(request: ChildRequest): Promise<{ id: string }> {
    const { task_id: taskId } = request;
    this.#refuse(request.agent);
    const { max_concurrent_agents: most } = this.#deps.spec;
    const { busy } = this.#children;
    if (busy >= most) throw new ReefError('agent_capacity', `${busy}/${most} agents are at work`);
    if (taskId !== undefined && !this.#tasks.claim(taskId)) {
      const { status, reason } = this.#tasks.view(taskId);
      throw new ReefError(
        'task_invalid',
        `Task ${taskId} cannot be begun: it is ${status}${reason ? `, ${reason}` : ''}`,
      );
    }
    const { id } = await this.#start(request);
    return { id };
  }

  /** Waits until a child ends, or until it or an agent below it asks something new. */
  async collect(name: string, signal: AbortSignal): Promise<Collected | Pending> {
    const child = this.#children.find(name);
    while (!child.end) {
      const asked = await Promise.race([this.#deps.jobs.attend(child.id, signal), child.over.then(() => [])]);
      signal.throwIfAborted();
      const pending_escalations = asked.filter(({ id }) => !this.#told.has(id));
      if (child.end || pending_escalations.length === 0) continue;
      for (const { id } of pending_escalations) this.#told.add(id);
      return { status: 'pending_escalations', id: child.id, agent: child.agent, pending_escalations };
    }
    return this.#take(child, child.end, signal);
  }

  async check(name: string, signal: AbortSignal): Promise<Collected | Record<string, unknown>> {
    const child = this.#children.find(name);
    if (child.end) return this.#take(child, child.end, signal);
    const { id, agent } = child;
    return { id, agent, ...(await this.#deps.jobs.look(id)) };
  }

  /** Ends the child and all agents below it, and waits for that. */
  async cancel(name: string): Promise<Collected> {
    const child = this.#children.find(name);
    if (!child.end) await this.#deps.jobs.kill(child.id);
    const end = await child.over;
    child.isCollected = true;
    return { id: child.id, agent: child.agent, ...end };
  }

  list(): (ChildView & { task: string; collected: boolean })[] {
    return this.#children
      .all()
      .map((child) => ({ ...viewOf(child), task: child.task.slice(0, 200), collected: child.isCollected }));
  }

  get parent(): TeamSupervisor | undefined {
    return this.#deps.parent;
  }

  running(): { id: string; agent: string; task: string }[] {
    return this.#children.running().map(({ id, agent, task }) => ({ id, agent, task }));
  }

  uncollected(): ChildView[] {
    return this.#children.uncollected().map(viewOf);
  }

  async cancelAll(): Promise<void> {
    this.#closing.abort();
    await this.#dispatching.run(async () => {}); // children being started are known then
    await Promise.all(this.#children.running().map(({ id }) => this.cancel(id)));
  }

  /** Ends the children that nobody collected. */
  async giveUp(): Promise<ChildView[]> {
    this.#tasks.drop('the turn ended before it was begun');
    await this.#dispatching.run(async () => {}); // children being started are known then
    const left = this.#children.uncollected();
    await Promise.all(left.map((child) => (child.end ? undefined : this.cancel(child.id))));
    for (const child of left) child.isCollected = true;
    return left.map(viewOf);
  }

  /** A task with an agent and without open dependencies is started before this returns. */
  async createTask(task: NewTask): Promise<TaskView> {
    if (task.agent !== undefined) this.#refuse(task.agent);
    const { id } = this.#tasks.create(task);
    await this.#dispatch();
    return this.#tasks.view(id);
  }

  async completeTask(id: string): Promise<TaskView> {
    const view = this.#tasks.complete(id);
    await this.#dispatch();
    return view;
  }

  failTask(id: string, reason: string): TaskView {
    return this.#tasks.fail(id, reason);
  }

  listTasks(): TaskView[] {
    return this.#tasks.list();
  }

  /** Writes to a child, to the parent, or to another child of the parent. */
  async send(to: string, message: InboxMessage): Promise<void> {
    const { parent, jobs } = this.#deps;
    if (to === this.agentId) return this.#deps.inbox.deliver(message);
    const isOthers = parent && (to === 'parent' || to === parent.agentId || parent.list().some(({ id }) => id === to));
    if (isOthers) return parent.send(to === 'parent' ? parent.agentId : to, message);
    const child = this.#children.find(to);
    if (child.end) throw new ReefError('job_ended', `${child.agent} ${child.id} has ended and reads no more messages`);
    await jobs.send(child.id, message);
  }

  reply(escalationId: string, reply: string): Promise<void> {
    return this.#deps.jobs.reply(escalationId, reply);
  }

  #refuse(name: string): void {
    const { spec, depth, maxDepth, isNative } = this.#deps;
    if (depth + 1 > maxDepth) {
      throw new ReefError('agent_depth', `You are ${depth} deep and at most ${maxDepth} are allowed`);
    }
    const agent = withoutPrefix(name);
    const { spawnable_agents: listed } = spec;
    if (listed ? listed.includes(agent) || listed.includes(name) : isNative(agent)) return;
    const allowed = listed?.join(', ') || 'none but agents of Reef itself';
    throw new ReefError('agent_not_allowed', `You may not start ${JSON.stringify(name)}; you may start: ${allowed}`);
  }

  async #start({ prompt, task_id: taskId, plan, ...request }: ChildRequest): Promise<Child> {
    const { jobs, cwd, isNative, maxDepth } = this.#deps;
    const agent = withoutPrefix(request.agent);
    const release = this.#children.claim();
    try {
      const name = isNative(agent) ? PREFIX + agent : agent;
      const id = await jobs.spawn({ agent: name, task: prompt, cwd, maxDepth, plan });
      const child: Child = { id, agent, task: prompt, taskId, isCollected: false, over: this.#watch(id) };
      this.#children.add(child);
      if (taskId !== undefined) this.#tasks.assign(taskId, id);
      return child;
    } catch (error) {
      if (taskId !== undefined) this.#tasks.fail(taskId, toReefError(error).message);
      throw error;
    } finally {
      release();
    }
  }

  /** Follows a child to its end, also while everything is being cancelled: `cancel` waits for that end. */
  async #watch(id: string): Promise<JobEnd> {
    const end = await this.#deps.jobs.ended(id, new AbortController().signal).catch(outOfSight);
    const child = this.#children.find(id);
    child.end = end;
    if (child.taskId !== undefined) this.#settleTask(child, child.taskId, end);
    void this.#dispatch();
    return end;
  }

  #settleTask({ agent, id }: Child, taskId: string, end: JobEnd): void {
    const isOpen = this.#tasks.view(taskId).status === 'in_progress';
    if (isOpen && end.status === 'completed') this.#tasks.complete(taskId);
    else if (isOpen) this.#tasks.fail(taskId, `${agent} ${end.status}: ${end.exit_status}`);
    const { subject, status } = this.#tasks.view(taskId);
    const text = `Task ${taskId} (${subject}) is ${status}: ${agent} ${id} has ended. agent__collect gives its result.`;
    this.#deps.inbox.deliver({ kind: 'task_completed', from: id, text });
  }

  /** Starts ready tasks one after the other, so that each sees how many places are left. */
  #dispatch(): Promise<void> {
    return this.#dispatching.run(async () => {
      for (const { id, agent, prompt } of this.#tasks.ready()) {
        if (this.#closing.signal.aborted || this.#children.busy >= this.#deps.spec.max_concurrent_agents) return;
        if (!this.#tasks.claim(id)) continue;
        await this.#start({ agent, prompt, task_id: id }).catch(() => {}); // the task now says why it failed
      }
    });
  }

  async #take(child: Child, { output, ...end }: JobEnd, signal: AbortSignal): Promise<Collected> {
    child.isCollected = true;
    const { id, agent } = child;
    const { summarization_threshold: threshold } = this.#deps.spec;
    const isLong = threshold > 0 && output.length >= threshold;
    const shown = isLong ? await this.#deps.summarise({ id, agent }, output, signal) : { output };
    return { id, agent, ...end, ...shown };
  }
}

const withoutPrefix = (name: string) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name);

/** Its end can no longer be observed. */
function outOfSight(error: unknown): JobEnd {
  return { status: 'failed', output: '', exit_status: toReefError(error).message };
}
