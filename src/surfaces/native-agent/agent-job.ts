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
import { teamOf, withTeam } from '../../runtime/team/create-team.ts';
import type { Escalations } from '../../runtime/team/escalation.ts';
import { renderMessages, type TeamInbox } from '../../runtime/team/inbox.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { runWithTeam, type Team } from '../../runtime/team/team-run.ts';
import { createOutputCap } from '../../runtime/tools/output.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { Hello } from './tree-socket.ts';

/** An agent whose context runs in this process. */
export interface NativeAgent {
  readonly id: string;
  /** Job ids from the root to this one. */
  readonly path: readonly string[];
  readonly agent: string;
  readonly runtime: AgentRuntime | undefined;
  deliver(message: InboxMessage): void;
  close(): void;
}

export interface AgentJobDeps {
  hello: Hello;
  app: AppState;
  outputsDir: string;
  jobs: JobPort;
  tools: readonly Tool[];
  escalations: Escalations;
  /** May have messages that came before the job. */
  inbox: TeamInbox;
  /** Its parent, if that runs in this process. */
  parent?: NativeAgent | undefined;
  /** The person at the root allowed everything that a rule would ask about. */
  confirmAll: boolean;
  streams: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream };
}

type Ended = Parameters<ReefConnection['endTurn']>[0];

interface Opened {
  ctx: RequestContext;
  port: EnginePort;
  team: Team;
}

/** One job whose context runs in this process, from its first message until its connection ends. */
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

  deliver(message: InboxMessage): void {
    if (this.#isOver) throw new ReefError('job_ended', `${this.id} has ended and reads no more messages`);
    this.#deps.inbox.deliver(message);
  }

  /** Serves until the connection is closed or the work is done. */
  async serve(): Promise<void> {
    try {
      for (;;) {
        // A job that is done still takes messages that were sent before.
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
    // A child that is not kept is done after its turn. A person may still write to a root.
    const { inbox, hello } = this.#deps;
    const { keep, parentId } = hello;
    const isLast = parentId !== undefined && !keep;
    try {
      this.#opened ??= await this.#open(signal);
      let result = await this.#run(this.#opened, message, signal);
      // Messages that came after the last step.
      while (!inbox.isEmpty) {
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

  /** Opens a context over the state that all jobs of this process share. Its session outlives the process. */
  async #open(signal: AbortSignal): Promise<Opened> {
    const { hello, app, parent, outputsDir } = this.#deps;
    const ancestors = this.path.slice(0, -1);
    const place = { ...this.#deps, jobId: this.id, ancestors, depth: hello.depth, channel: this.#talk };
    const ctx = createContext(withTeam(app, place), {
      workingMode: 'job',
      overrides: { save_session: true, ...(hello.model !== undefined && { model: hello.model }) },
    });
    await ctx.useAgent({ name: hello.agent, session: `_/job-${this.id}`, parent: parent?.runtime, signal });
    this.#connection.write({ do: 'session', sessionId: hello.sessionId, model: ctx.model.id, cwd: hello.cwd });
    const team = teamOf(ctx.agentRuntime);
    if (!team) throw new Error('no team');
    const port = contextPort(ctx, {
      gate: createPermissionGate({ rules: app.config.reef.permissions, confirmAll: this.#deps.confirmAll }),
      outputs: createOutputCap(outputsDir, randomUUID),
      ask: async () => ({ kind: 'needs_human' }),
    });
    return { ctx, port, team };
  }

  async #run({ port, team }: Opened, message: string, signal: AbortSignal): Promise<string> {
    const request = {
      requestId: randomUUID(),
      input: userText(message),
      options: { ...PRESETS.api_session, signal },
    };
    const outcome = await runWithTeam(port, request, { ...team, emitters: [this.#talk] });
    return outcome.final_message ?? '';
  }
}
