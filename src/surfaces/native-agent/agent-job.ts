import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ReefConnection } from '../../agents/reef-protocol/connection.ts';
import { ProtocolTalk } from '../../coder/protocol-talk.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { contextPort } from '../../runtime/engine/context-port.ts';
import { type EnginePort, PRESETS } from '../../runtime/engine/engine.ts';
import { userText } from '../../runtime/models/message.ts';
import { createPermissionGate } from '../../runtime/permissions/gate.ts';
import type { AppState } from '../../runtime/state/app-state.ts';
import { createContext } from '../../runtime/state/init.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import type { AgentRuntime, InboxMessage } from '../../runtime/state/scope.ts';
import { withTeam } from '../../runtime/team/create-team.ts';
import type { Escalations } from '../../runtime/team/escalation.ts';
import { renderMessages, TeamInbox } from '../../runtime/team/inbox.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { TeamSupervisor } from '../../runtime/team/supervisor.ts';
import { runWithTeam } from '../../runtime/team/team-run.ts';
import { createOutputCap } from '../../runtime/tools/output.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { Hello } from './tree-socket.ts';

/** An agent whose context runs in this process. */
export interface NativeAgent {
  readonly id: string;
  /** Ids from the root to this one. */
  readonly path: readonly string[];
  readonly agent: string;
  readonly runtime: AgentRuntime | undefined;
  deliver(message: InboxMessage): void;
  /** Ends its turn, its children and its servers. */
  close(): void;
}

export interface AgentJobDeps {
  hello: Hello;
  app: AppState;
  outputsDir: string;
  jobs: JobPort;
  /** What it may ask about its own worktree. */
  tools: readonly Tool[];
  escalations: Escalations;
  /** In this host; a parent elsewhere is only a number of steps above. */
  parent?: NativeAgent | undefined;
  /** Whoever is the root said yes to whatever a rule would ask about. */
  confirmAll: boolean;
  streams: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };
}

type Ended = Parameters<ReefConnection['endTurn']>[0];

interface Opened {
  ctx: RequestContext;
  host: EnginePort;
  supervisor: TeamSupervisor;
  inbox: TeamInbox;
}

/** One job of a host: its context, from the first message to the end of its line. */
export class AgentJob implements NativeAgent {
  readonly id: string;
  readonly path: readonly string[];
  readonly agent: string;
  readonly #deps: AgentJobDeps;
  readonly #connection: ReefConnection;
  readonly #talk: ProtocolTalk;
  readonly #closing = new AbortController();
  readonly #closed: Promise<undefined>;
  #opened: Opened | undefined;
  readonly #early: InboxMessage[] = [];
  #isOver = false;

  constructor(deps: AgentJobDeps) {
    const { hello, parent, streams } = deps;
    this.#deps = deps;
    this.id = hello.jobId;
    this.agent = hello.agent;
    this.path = [...(parent?.path ?? []), hello.jobId];
    this.#connection = new ReefConnection(streams.input, streams.output);
    this.#talk = new ProtocolTalk(this.#connection);
    const { signal } = this.#closing;
    this.#closed = new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
    streams.input.once('close', () => this.#closing.abort());
    streams.input.once('end', () => this.#closing.abort());
  }

  get runtime(): AgentRuntime | undefined {
    return this.#opened?.ctx.agentRuntime;
  }

  /** Before its context is open, too: it finds it there. */
  deliver(message: InboxMessage): void {
    if (this.#isOver) throw new ReefError('job_ended', `${this.id} is over and reads nothing any more`);
    if (this.#opened) this.#opened.inbox.deliver(message);
    else this.#early.push(message);
  }

  /** Until its line is closed or its work is done. */
  async serve(): Promise<void> {
    try {
      for (;;) {
        // A job that is done still takes what was sent to it before it was.
        const ends = this.#isOver ? [this.#closed, setImmediate(undefined)] : [this.#closed];
        const message = await Promise.race([this.#connection.nextMessage(), ...ends]);
        if (message === undefined) return;
        this.#isOver = false;
        const signal = AbortSignal.any([this.#connection.beginTurn(), this.#closing.signal]);
        this.#connection.endTurn(await this.#turn(message, signal));
      }
    } finally {
      this.#isOver = true;
      await this.#opened?.ctx.close();
    }
  }

  close(): void {
    this.#closing.abort();
  }

  async #turn(message: string, signal: AbortSignal): Promise<Ended> {
    // A child that is not kept has nothing to wait for; a person may still have something to say to a root.
    const { keep, parentId } = this.#deps.hello;
    const isLast = parentId !== undefined && !keep;
    try {
      this.#opened ??= await this.#open(signal);
      let result = await this.#run(this.#opened, message, signal);
      // What came after the last step would otherwise be read by nobody.
      for (const { inbox } = this.#opened; !inbox.isEmpty; ) {
        result = await this.#run(this.#opened, renderMessages(inbox.drain()), signal);
      }
      this.#isOver = isLast;
      return { do: 'turn', is: 'over', outcome: 'done', result };
    } catch (error) {
      const { code, message: why, retryable } = toReefError(error);
      if (signal.aborted) return { do: 'turn', is: 'over', outcome: 'interrupted', result: '' };
      this.#isOver = isLast;
      return { do: 'turn', is: 'failed', code, message: why, retryable };
    }
  }

  /** A fresh context over the state all jobs of this host share, in a session of its own that outlives the process. */
  async #open(signal: AbortSignal): Promise<Opened> {
    const { hello, app, jobs, tools, escalations, outputsDir, parent } = this.#deps;
    const ancestors = this.path.slice(0, -1);
    const place = { jobId: this.id, ancestors, depth: hello.depth, jobs, tools, escalations, outputsDir };
    const ctx = createContext(withTeam(app, { ...place, channel: this.#talk }), {
      workingMode: 'job',
      overrides: { save_session: true, ...(hello.model !== undefined && { model: hello.model }) },
    });
    await ctx.useAgent({ name: hello.agent, session: `_/job-${this.id}`, parent: parent?.runtime, signal });
    this.#connection.write({ do: 'session', sessionId: hello.sessionId, model: ctx.model.id, cwd: hello.cwd });
    const { supervisor, inbox } = ctx.agentRuntime ?? {};
    if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox)) throw new Error('no team');
    for (const message of this.#early.splice(0)) inbox.deliver(message);
    const host = contextPort(ctx, {
      gate: createPermissionGate({ rules: app.config.reef.permissions, confirmAll: this.#deps.confirmAll }),
      outputs: createOutputCap(outputsDir, randomUUID),
      ask: async () => ({ kind: 'needs_human' }),
    });
    return { ctx, host, supervisor, inbox };
  }

  async #run({ host, supervisor, inbox }: Opened, message: string, signal: AbortSignal): Promise<string> {
    const request = {
      requestId: randomUUID(),
      input: userText(message),
      options: { ...PRESETS.api_session, signal },
    };
    const outcome = await runWithTeam(host, request, { supervisor, inbox, emitters: [this.#talk] });
    return outcome.final_message ?? '';
  }
}
