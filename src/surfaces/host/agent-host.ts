import type { Socket } from 'node:net';
import { openRuntime, type Runtime } from '../../app/runtime/open-runtime.ts';
import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { InboxMessage } from '../../runtime/state/scope.ts';
import { EscalationDesk } from '../../runtime/team/escalation.ts';
import { connect } from '../client/client.ts';
import { doorJobs } from './door-jobs.ts';
import type { Hello } from './hello.ts';
import { type HostSocket, hostPath, listen } from './host-socket.ts';
import { HostedJob, type HostedParts } from './hosted-job.ts';

/** One host, one state, one tree of contexts: a root and all of Reef's own agents below it. */
export class AgentHost {
  readonly #runtime: Runtime;
  readonly #cwd: string;
  readonly #desk = new EscalationDesk();
  readonly #jobs = new Map<string, HostedJob>();
  readonly #serving = new Set<Promise<void>>();
  readonly #gone = new Set<string>();
  /** For children whose process has not come yet. */
  readonly #early = new Map<string, InboxMessage[]>();
  #socket: HostSocket | undefined;

  private constructor(runtime: Runtime, cwd: string) {
    this.#runtime = runtime;
    this.#cwd = cwd;
  }

  static async open(env: Environment, { cwd, version }: { cwd: string; version: string }): Promise<AgentHost> {
    const runtime = await openRuntime({
      ...{ env, cwd, version, clock: systemClock, isOneShot: false },
      ask: async () => ({ kind: 'needs_human' }),
      onWarning: ({ file, message }) => process.stderr.write(`${file}: ${message}\n`),
    });
    return new AgentHost(runtime, cwd);
  }

  /** The root's own line, to its end. Children come in meanwhile. */
  async serve(hello: Hello, streams: HostedParts['streams']): Promise<void> {
    // A folder nobody may write to, as in a sandbox: every child is then a host of its own.
    this.#socket = await listen(hostPath(hello.door), (child, socket) => this.#take(child, socket)).catch(
      () => undefined,
    );
    await this.#host(hello, streams, undefined);
  }

  /** Ends all turns, children and servers, and waits for that. */
  async close(): Promise<void> {
    for (const job of this.#jobs.values()) job.close();
    await Promise.allSettled(this.#serving);
    this.#socket?.close();
    await this.#runtime.app.close();
  }

  #take(hello: Hello, socket: Socket): boolean {
    const parent = hello.parentId === undefined ? undefined : this.#jobs.get(hello.parentId);
    if (!parent?.runtime || hello.cwd !== this.#cwd || this.#jobs.has(hello.jobId)) return false;
    void this.#host(hello, { input: socket, output: socket }, parent).finally(() => socket.end());
    return true;
  }

  #host(hello: Hello, streams: HostedParts['streams'], parent: HostedJob | undefined): Promise<void> {
    const { app, outputsDir } = this.#runtime;
    const job = new HostedJob({
      ...{ hello, app, outputsDir, streams, parent, desk: this.#desk },
      jobs: doorJobs({
        jobId: hello.jobId,
        client: connect({ socket: hello.door, surface: 'mcp' }),
        clock: systemClock,
        desk: this.#desk,
        letters: { deliver: (message, to) => this.#deliver(message, to) },
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

  #deliver(message: InboxMessage, { id, isComing }: { id: string; isComing: boolean }): boolean {
    const job = this.#jobs.get(id);
    if (job) job.deliver(message);
    else if (this.#gone.has(id)) throw new ReefError('job_ended', `${id} is over and reads nothing any more`);
    else if (isComing) this.#early.set(id, [...(this.#early.get(id) ?? []), message]);
    return job !== undefined || isComing;
  }
}
