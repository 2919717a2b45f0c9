import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import { ReefConnection } from '../../agents/reef-protocol/connection.ts';
import { jobSocketPath } from '../../agents/sandbox.ts';
import type { Clock } from '../../base/clock.ts';
import { lazily } from '../../base/lazily.ts';
import { ProtocolTalk } from '../../coder/protocol-talk.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { OperationInput } from '../../protocol/operations.ts';
import type { Emitter, EngineEvent } from '../../runtime/engine/emitter.ts';
import type { AgentRuntime, InboxMessage } from '../../runtime/state/scope.ts';
import type { JobPort } from '../../runtime/team/job-port.ts';
import { type Client, connect } from '../client/client.ts';
import type { NativeAgent } from './agent-job.ts';
import type { AgentTree } from './agent-tree.ts';
import { childJobs } from './child-jobs.ts';
import { type Call, patient } from './patient-call.ts';
import { watchQuestions } from './watch-questions.ts';

export interface RootJobDeps {
  agent: string;
  task: string;
  cwd: string;
  model: string;
  runtime(): AgentRuntime | undefined;
  /** Found for the first child: outside a repository there is no daemon. */
  daemon(): { client: Client; sockets: string };
  clock: Clock;
  tree: AgentTree;
  /** Of the request this is the root of. */
  signal: AbortSignal;
  /** Called when all slots for jobs are taken. */
  onWaiting(): void;
  /** Puts a question of a child to the person. If it rejects, the request ends. */
  onAsked(question: ChildQuestion): Promise<void>;
}

/** A question of an agent below the one a person talks to. */
export interface ChildQuestion {
  asked: InboxEntry;
  /** Agent names from the root to the one that asks. */
  chain: readonly string[];
  /** Aborted when the question was answered elsewhere or withdrawn. */
  settled: AbortSignal;
  /** The first answer counts; a later one is refused. */
  send(answer: Pick<OperationInput<'send'>, 'text' | 'option' | 'decision'>): Promise<void>;
}

type End = { result: string } | { error: ReefError } | 'killed';

const LONGEST_TASK = 4_000;
const SOON_MS = 3_000;
const FAILED_MS = 45_000;
const ENDING_MS = 10_000;

/** The agent a person talks to, as a job: from its first child until the request ends. Its process only relays to this one. */
export class RootJob implements NativeAgent {
  readonly agent: string;
  readonly #deps: RootJobDeps;
  readonly #stopped = new AbortController();
  readonly #over = new AbortController();
  readonly #opened = lazily(() => this.#open());
  #line = Promise.withResolvers<Socket>();
  #id = '';
  #connection: ReefConnection | undefined;
  #told: Emitter | undefined;
  /** Events from before the job existed. */
  readonly #before: EngineEvent[] = [];

  constructor(deps: RootJobDeps) {
    this.#deps = deps;
    this.agent = deps.agent;
  }

  get id(): string {
    return this.#id;
  }

  get path(): readonly string[] {
    return [this.#id];
  }

  get runtime(): AgentRuntime | undefined {
    return this.#deps.runtime();
  }

  /** Aborted when somebody ended the job, or when no one can answer a question of its children. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }

  readonly emitter: Emitter = {
    emit: (event) => (this.#told ? this.#told.emit(event) : void this.#before.push(event)),
  };

  deliver(message: InboxMessage): void {
    this.runtime?.inbox.deliver(message);
  }

  /** The first call makes it a job. */
  jobs(): Promise<JobPort> {
    return this.#opened.get();
  }

  /** Undefined if it is not a job yet. */
  get opened(): Promise<JobPort> | undefined {
    return this.#opened.made();
  }

  stop(why: ReefError): void {
    this.#stopped.abort(why);
  }

  /** Nothing to do: the caller ends its context. */
  close(): void {}

  /** Called when the request is over and all its children have ended. */
  async end(how: End): Promise<void> {
    this.#over.abort();
    if (this.#id === '') return;
    const { client } = this.#deps.daemon();
    try {
      if (how === 'killed' || !this.#connection) await client.call('kill', { id: this.#id });
      else {
        this.#connection.endTurn(toTurn(how));
        (await this.#line.promise).end();
        await client.call('wait', { ids: [this.#id], until: ['done'], timeoutMs: ENDING_MS });
      }
    } catch {
      // Without a daemon, closing our socket ends the process as well.
    } finally {
      await this.#deps.tree.close();
    }
  }

  async #open(): Promise<JobPort> {
    const { agent, cwd, clock, tree, signal } = this.#deps;
    const { client, sockets } = this.#deps.daemon();
    const call = patient(client, clock);
    const task = this.#deps.task.trim().slice(0, LONGEST_TASK) || agent;
    const { agentId } = await call('spawn', { agent: `chat:${agent}`, task, cwd, key: randomUUID() }, signal);
    this.#id = agentId;
    const door = jobSocketPath(sockets, agentId);
    try {
      mkdirSync(dirname(door), { recursive: true, mode: 0o700 });
      this.#line = Promise.withResolvers();
      await tree.welcome(door, { root: this, onLine: (line) => this.#line.resolve(line) });
      await this.#begin(await this.#arrival(call));
    } catch (error) {
      // The next child tries again with a new job.
      await client.call('kill', { id: agentId }).catch(() => {});
      await tree.close();
      this.#id = '';
      throw error;
    }
    this.#watch(client);
    const own = connect({ socket: door, surface: 'mcp' });
    return childJobs({
      jobId: agentId,
      clock,
      escalations: tree.escalations,
      tree,
      // Only the job itself may start children and free its slot. The rest must work after the job is killed.
      client: {
        ...client,
        call: (operation, input, options) =>
          (operation === 'spawn' || operation === 'wait' ? own : client).call(operation, input, options),
      },
    });
  }

  async #begin(line: Socket): Promise<void> {
    const connection = new ReefConnection(line, line);
    line.once('end', () => {
      if (!this.#over.signal.aborted) this.stop(new ReefError('cancelled', `${this.#id} was ended from elsewhere`));
      line.end();
    });
    await connection.nextMessage(); // the task, which has begun already
    const turn = connection.beginTurn();
    turn.addEventListener('abort', () => this.stop(new ReefError('cancelled', `${this.#id} was interrupted`)));
    const { cwd, model } = this.#deps;
    connection.write({ do: 'session', sessionId: this.#id, model, cwd });
    this.#connection = connection;
    this.#told = new ProtocolTalk(connection);
    for (const event of this.#before.splice(0)) void this.#told.emit(event);
    void this.#listen(connection);
  }

  #watch(client: Client): void {
    const { clock, tree, onAsked } = this.#deps;
    const onNews = (asked: InboxEntry, settled: AbortSignal) => {
      const { jobId: id, questionId, fingerprint, path } = asked;
      const below = path.slice(path.indexOf(this.#id));
      const chain = below.map(
        (each) => tree.nameOf(each) ?? (each === id ? asked.agent.replace(/^native:/, '') : each),
      );
      const send: ChildQuestion['send'] = async (answer) =>
        void (await client.call('send', { id, questionId, fingerprint, ...answer }));
      onAsked({ asked, chain, settled, send }).catch((error: unknown) => this.stop(toReefError(error)));
    };
    void watchQuestions({ client, clock, rootId: this.#id, signal: this.#over.signal, onAsked: onNews });
  }

  /** Passes on what is sent to the job from elsewhere. */
  async #listen(connection: ReefConnection): Promise<void> {
    for (;;) {
      const text = await connection.nextMessage();
      if (text === undefined) return;
      this.deliver({ kind: 'text', from: 'a person', text });
    }
  }

  /** The connection of its process, which waits for a free slot and may never start. */
  async #arrival(call: Call): Promise<Socket> {
    const here = new AbortController();
    const signal = AbortSignal.any([here.signal, this.#over.signal, this.#deps.signal]);
    const failure = async (): Promise<never> => {
      for (let looks = 0; ; looks += 1) {
        const timeoutMs = looks === 0 ? SOON_MS : FAILED_MS;
        const { met, because } = await call('wait', { ids: [this.#id], until: ['done'], timeoutMs }, signal);
        if (because !== undefined) await this.#deps.clock.sleep(SOON_MS, signal); // no place yet, and a person may make one
        if (!met && looks === 0) this.#deps.onWaiting();
        if (met) throw new ReefError('spawn_failed', `No agent can be started; \`reef output ${this.#id}\` says why`);
      }
    };
    try {
      return await Promise.race([this.#line.promise, failure()]);
    } finally {
      here.abort();
    }
  }
}

function toTurn(how: Exclude<End, 'killed'>): Parameters<ReefConnection['endTurn']>[0] {
  if ('result' in how) return { do: 'turn', is: 'over', outcome: 'done', result: how.result };
  const { code, message, retryable } = how.error;
  return { do: 'turn', is: 'failed', code, message, retryable };
}
