import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReefError, toReefError } from '../../../src/protocol/errors.ts';
import { contextPort } from '../../../src/runtime/engine/context-port.ts';
import type { EngineEvent } from '../../../src/runtime/engine/emitter.ts';
import { PRESETS } from '../../../src/runtime/engine/engine.ts';
import { userText } from '../../../src/runtime/models/message.ts';
import { createPermissionGate } from '../../../src/runtime/permissions/gate.ts';
import type { AppState } from '../../../src/runtime/state/app-state.ts';
import { createContext } from '../../../src/runtime/state/init.ts';
import type { RequestContext } from '../../../src/runtime/state/request-context.ts';
import type { AgentRuntime } from '../../../src/runtime/state/scope.ts';
import { withTeam } from '../../../src/runtime/team/create-team.ts';
import { Escalations } from '../../../src/runtime/team/escalation.ts';
import { TeamInbox } from '../../../src/runtime/team/inbox.ts';
import type { JobEnd, JobPort } from '../../../src/runtime/team/job-port.ts';
import { TeamSupervisor } from '../../../src/runtime/team/supervisor.ts';
import { runWithTeam } from '../../../src/runtime/team/team-run.ts';
import { createOutputCap } from '../../../src/runtime/tools/output.ts';
import type { Answer } from '../../../src/runtime/tools/tool.ts';

export interface LocalJob {
  id: string;
  agent: string;
  ctx: RequestContext;
  supervisor: TeamSupervisor;
  inbox: TeamInbox;
  events: EngineEvent[];
  /** One message of a person, to the end of its run. */
  tell(text: string, signal?: AbortSignal): Promise<string>;
}

interface Parent {
  id: string;
  path: readonly string[];
  children: string[];
  runtime: () => AgentRuntime | undefined;
}

interface Running {
  opened: Promise<LocalJob>;
  ended: Promise<JobEnd>;
  stop: AbortController;
  children: string[];
}

/** Jobs that are contexts of this process: everything of a team but the daemon, which other tests have for real. */
export class LocalJobs {
  readonly escalations = new Escalations();
  readonly #app: AppState;
  readonly #jobs = new Map<string, Running>();
  readonly #people = new Map<string, (answer: Answer) => void>();
  readonly withdrawn: string[] = [];
  /** Ids of jobs, in the order they were started. */
  readonly started: string[] = [];

  constructor(app: AppState) {
    this.#app = app;
  }

  async root(agent: string): Promise<LocalJob> {
    return this.#open({ id: `ROOT-${agent.toUpperCase()}`, agent, children: [], path: [] });
  }

  job(id: string): Promise<LocalJob> {
    const job = this.#jobs.get(id);
    if (!job) throw new Error(`no job ${id}`);
    return job.opened;
  }

  /** As a person does from the inbox. */
  answer(escalationId: string, answer: Answer): void {
    this.#people.get(escalationId)?.(answer);
  }

  #port(parent: Parent): JobPort {
    return {
      spawn: async ({ agent, task }) => {
        const id = `JOB${this.#jobs.size + 1}`;
        this.#spawn({ id, agent: agent.replace('native:', ''), task, parent });
        return id;
      },
      ended: (id) => this.#jobs.get(id)?.ended ?? Promise.reject(new Error(id)),
      look: async () => ({ status: 'running', last_output: '' }),
      attend: async (id, signal) => {
        await sleep(5, undefined, { signal });
        return this.escalations.below(id);
      },
      reply: async (id, text) => this.escalations.reply(id, text, parent.id),
      send: async (id, message) => (await this.job(id)).inbox.deliver(message),
      kill: (id) => this.#kill(id),
    };
  }

  #spawn({ id, agent, task, parent }: { id: string; agent: string; task: string; parent: Parent }): void {
    this.started.push(id);
    parent.children.push(id);
    const stop = new AbortController();
    const children: string[] = [];
    const opened = this.#open({ id, agent, children, path: [...parent.path, parent.id], parent: parent.runtime() });
    const run = async (): Promise<JobEnd> => {
      try {
        const job = await opened;
        const output = await job.tell(task, stop.signal).finally(() => job.ctx.close());
        return { status: 'completed', output, exit_status: '0' };
      } catch (error) {
        const { code, message } = toReefError(error);
        const status = stop.signal.aborted ? 'cancelled' : 'failed';
        return {
          status,
          output: (await opened.catch(() => undefined))?.ctx.lastMessage?.output ?? '',
          exit_status: `${code}: ${message}`,
        };
      }
    };
    this.#jobs.set(id, { opened, stop, children, ended: run() });
  }

  async #kill(id: string): Promise<void> {
    const job = this.#jobs.get(id);
    if (!job) throw new ReefError('job_not_found', id);
    for (const child of job.children) await this.#kill(child);
    job.stop.abort();
    await job.ended;
  }

  async #open(of: {
    id: string;
    agent: string;
    children: string[];
    path: readonly string[];
    parent?: AgentRuntime | undefined;
  }): Promise<LocalJob> {
    const { id, agent, path } = of;
    const outputsDir = join(this.#app.cwd, 'outputs');
    const runtime = () => ctx.agentRuntime;
    const app = withTeam(this.#app, {
      ...{ jobId: id, ancestors: path, outputsDir, escalations: this.escalations },
      jobs: this.#port({ id, path, children: of.children, runtime }),
      channel: {
        open: (_question, signal) => {
          const name = `${id}:q${this.#people.size + 1}`;
          const { promise, resolve, reject } = Promise.withResolvers<Answer>();
          this.#people.set(name, resolve);
          signal.addEventListener('abort', () => reject(new ReefError('cancelled', 'interrupted')));
          const withdraw = (by: string) => void this.withdrawn.push(`${name} by ${by}`);
          return { id: name.slice(id.length + 1), answer: promise, withdraw };
        },
      },
    });
    const ctx = createContext(app, { workingMode: 'job', overrides: { save_session: true } });
    await ctx.useAgent({ name: agent, session: `_/job-${id}`, parent: of.parent });
    const { supervisor, inbox } = ctx.agentRuntime ?? {};
    if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox)) throw new Error('no team');
    const host = contextPort(ctx, {
      gate: createPermissionGate({ rules: [] }),
      outputs: createOutputCap(outputsDir, randomUUID),
      ask: async () => ({ kind: 'needs_human' }),
    });
    const events: EngineEvent[] = [];
    const tell = async (text: string, signal?: AbortSignal) => {
      const request = { requestId: randomUUID(), input: userText(text), options: { ...PRESETS.api_session, signal } };
      const emitter = { emit: (event: EngineEvent) => void events.push(event) };
      return (await runWithTeam(host, request, { supervisor, inbox, emitters: [emitter] })).final_message ?? '';
    };
    return { id, agent, ctx, supervisor, inbox, events, tell };
  }
}
