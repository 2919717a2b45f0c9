import type { Socket } from 'node:net';
import { openRuntime, type Runtime } from '../../app/runtime/open-runtime.ts';
import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { InboxMessage } from '../../runtime/state/scope.ts';
import { Escalations } from '../../runtime/team/escalation.ts';
import { TeamInbox } from '../../runtime/team/inbox.ts';
import { connect } from '../client/client.ts';
import { AgentJob, type AgentJobDeps, type NativeAgent } from './agent-job.ts';
import { childJobs } from './child-jobs.ts';
import { patient } from './patient-call.ts';
import { type Hello, listen, type TreeSocket, treeSocketPath } from './tree-socket.ts';
import { worktreeTools } from './worktree-tools.ts';

interface AgentTreeDeps {
  runtime: Runtime;
  /** The root's folder. Only jobs of the same folder run here. */
  cwd: string;
  confirmAll: boolean;
}

interface Guest {
  root: NativeAgent;
  /** Called when the process of its job has connected. */
  onLine(line: Socket): void;
}

/** The agents that run in this process over one shared state: a root and all native agents below it. */
export class AgentTree {
  readonly escalations = new Escalations();
  readonly #deps: AgentTreeDeps;
  readonly #jobs = new Map<string, NativeAgent>();
  readonly #serving = new Set<Promise<void>>();
  readonly #gone = new Set<string>();
  /** Of children whose process has not connected yet. */
  readonly #inboxes = new Map<string, TeamInbox>();
  #socket: TreeSocket | undefined;
  #guest: Guest | undefined;

  constructor(deps: AgentTreeDeps) {
    this.#deps = deps;
  }

  static async open(env: Environment, { cwd, version }: { cwd: string; version: string }): Promise<AgentTree> {
    const runtime = await openRuntime({
      env,
      cwd,
      version,
      clock: systemClock,
      isOneShot: false,
      ask: async () => ({ kind: 'needs_human' }),
      onWarning: ({ file, message }) => process.stderr.write(`${file}: ${message}\n`),
    });
    return new AgentTree({ runtime, cwd, confirmAll: false });
  }

  /** Serves the root until its connection ends, and the children that connect meanwhile. */
  async serve(hello: Hello, streams: AgentJobDeps['streams']): Promise<void> {
    // In a sandbox the folder may be read-only. Every child then runs in its own process.
    this.#socket = await listen(treeSocketPath(hello.door), (child, socket) => this.#take(child, socket)).catch(
      () => undefined,
    );
    await this.#run(hello, streams, undefined);
  }

  /** Takes a root whose context is here already. The process of its job connects like those of its children. */
  async welcome(door: string, guest: Guest): Promise<void> {
    this.#guest = guest;
    this.#jobs.set(guest.root.id, guest.root);
    this.#socket = await listen(treeSocketPath(door), (hello, socket) => this.#take(hello, socket));
  }

  nameOf(id: string): string | undefined {
    return this.#jobs.get(id)?.agent;
  }

  /** Delivers to an agent of this process, or to one that is about to connect. False if it is neither. */
  deliver(message: InboxMessage, { id, isComing }: { id: string; isComing: boolean }): boolean {
    const job = this.#jobs.get(id);
    if (job) job.deliver(message);
    else if (this.#gone.has(id)) throw new ReefError('job_ended', `${id} has ended and reads no more messages`);
    else if (isComing) this.#inboxOf(id).deliver(message);
    return job !== undefined || isComing;
  }

  /** Ends all agents and waits for that. */
  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.close();
    await Promise.allSettled(this.#serving);
    this.#socket?.close();
  }

  /** Ends all agents and the servers of the process. */
  async end(): Promise<void> {
    await this.close();
    await this.#deps.runtime.app.close();
  }

  #take(hello: Hello, socket: Socket): boolean {
    if (hello.jobId === this.#guest?.root.id) {
      this.#guest.onLine(socket);
      return true;
    }
    const parent = hello.parentId === undefined ? undefined : this.#jobs.get(hello.parentId);
    if (!parent?.runtime || hello.cwd !== this.#deps.cwd || this.#jobs.has(hello.jobId)) return false;
    void this.#run(hello, { input: socket, output: socket }, parent).finally(() => socket.end());
    return true;
  }

  #inboxOf(id: string): TeamInbox {
    const inbox = this.#inboxes.get(id) ?? new TeamInbox();
    this.#inboxes.set(id, inbox);
    return inbox;
  }

  #run(hello: Hello, streams: AgentJobDeps['streams'], parent: NativeAgent | undefined): Promise<void> {
    const { runtime, confirmAll } = this.#deps;
    const { app, outputsDir } = runtime;
    const { escalations } = this;
    const { jobId } = hello;
    const client = connect({ socket: hello.door, surface: 'mcp' });
    const job = new AgentJob({
      hello,
      app,
      outputsDir,
      streams,
      parent,
      confirmAll,
      escalations,
      inbox: this.#inboxOf(jobId),
      tools: worktreeTools(patient(client, systemClock)),
      jobs: childJobs({ jobId, client, clock: systemClock, escalations, tree: this }),
    });
    this.#jobs.set(jobId, job);
    this.#gone.delete(jobId);
    this.#inboxes.delete(jobId);
    const served = job
      .serve()
      .catch((error: unknown) => process.stderr.write(`${jobId} failed: ${toReefError(error).message}\n`))
      .then(() => {
        this.#jobs.delete(jobId);
        this.#gone.add(jobId);
        this.#serving.delete(served);
      });
    this.#serving.add(served);
    return served;
  }
}
