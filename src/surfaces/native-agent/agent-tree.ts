import type { Socket } from 'node:net';
import { openRuntime, type Runtime } from '../../app/runtime/open-runtime.ts';
import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { InboxMessage } from '../../runtime/state/scope.ts';
import { Escalations } from '../../runtime/team/escalation.ts';
import { connect } from '../client/client.ts';
import { AgentJob, type AgentJobDeps, type NativeAgent } from './agent-job.ts';
import { childJobs } from './child-jobs.ts';
import { patient } from './patient-call.ts';
import { type Hello, listen, type TreeSocket, treeSocketPath } from './tree-socket.ts';
import { worktreeTools } from './worktree-tools.ts';

interface AgentTreeDeps {
  runtime: Runtime;
  /** Of the root, and so of all that may be taken in. */
  cwd: string;
  confirmAll: boolean;
}

interface Guest {
  root: NativeAgent;
  /** The process of its job has come: from now on its line is this connection. */
  onLine(line: Socket): void;
}

/** One host, one state, one tree of contexts: a root and all of Reef's own agents below it. */
export class AgentTree {
  readonly escalations = new Escalations();
  readonly #deps: AgentTreeDeps;
  readonly #jobs = new Map<string, NativeAgent>();
  readonly #serving = new Set<Promise<void>>();
  readonly #gone = new Set<string>();
  /** For children whose process has not come yet. */
  readonly #early = new Map<string, InboxMessage[]>();
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

  /** The root's own line, to its end. Children come in meanwhile. */
  async serve(hello: Hello, streams: AgentJobDeps['streams']): Promise<void> {
    // A folder nobody may write to, as in a sandbox: every child is then a host of its own.
    this.#socket = await listen(treeSocketPath(hello.door), (child, socket) => this.#take(child, socket)).catch(
      () => undefined,
    );
    await this.#host(hello, streams, undefined);
  }

  /** A root whose context is here already: the process of its job comes in as those of its children do. */
  async welcome(door: string, guest: Guest): Promise<void> {
    this.#guest = guest;
    this.#jobs.set(guest.root.id, guest.root);
    this.#socket = await listen(treeSocketPath(door), (hello, socket) => this.#take(hello, socket));
  }

  /** What an agent here is called. */
  nameOf(id: string): string | undefined {
    return this.#jobs.get(id)?.agent;
  }

  /** Puts a message before an agent here, or before one that is about to come. */
  deliver(message: InboxMessage, { id, isComing }: { id: string; isComing: boolean }): boolean {
    const job = this.#jobs.get(id);
    if (job) job.deliver(message);
    else if (this.#gone.has(id)) throw new ReefError('job_ended', `${id} is over and reads nothing any more`);
    else if (isComing) this.#early.set(id, [...(this.#early.get(id) ?? []), message]);
    return job !== undefined || isComing;
  }

  /** Ends all turns and children, and waits for that. */
  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.close();
    await Promise.allSettled(this.#serving);
    this.#socket?.close();
  }

  /** The same, and the servers of the whole process. */
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
    void this.#host(hello, { input: socket, output: socket }, parent).finally(() => socket.end());
    return true;
  }

  #host(hello: Hello, streams: AgentJobDeps['streams'], parent: NativeAgent | undefined): Promise<void> {
    const { runtime, confirmAll } = this.#deps;
    const { app, outputsDir } = runtime;
    const client = connect({ socket: hello.door, surface: 'mcp' });
    const job = new AgentJob({
      hello,
      app,
      outputsDir,
      streams,
      parent,
      confirmAll,
      escalations: this.escalations,
      tools: worktreeTools(patient(client, systemClock)),
      jobs: childJobs({
        jobId: hello.jobId,
        client,
        clock: systemClock,
        escalations: this.escalations,
        letters: this,
      }),
    });
    this.#jobs.set(job.id, job);
    this.#gone.delete(job.id);
    for (const message of this.#early.get(job.id) ?? []) job.deliver(message);
    this.#early.delete(job.id);
    const served = job
      .serve()
      .catch((error: unknown) => process.stderr.write(`${job.id} did not end well: ${toReefError(error).message}\n`))
      .then(() => {
        this.#jobs.delete(job.id);
        this.#gone.add(job.id);
        this.#serving.delete(served);
      });
    this.#serving.add(served);
    return served;
  }
}
