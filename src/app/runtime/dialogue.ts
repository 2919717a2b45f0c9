import { ReefError } from '../../protocol/errors.ts';
import { contextPort } from '../../runtime/engine/context-port.ts';
import type { Emitter, RunOutcome } from '../../runtime/engine/emitter.ts';
import { type EnginePort, type RunIo, type RunOptions, type RunRequest, run } from '../../runtime/engine/engine.ts';
import { createInput, type InputDeps, parseFileLine, type Source } from '../../runtime/engine/input.ts';
import { type UserMessage, userText } from '../../runtime/models/message.ts';
import type { PermissionGate } from '../../runtime/permissions/gate.ts';
import type { RagHit } from '../../runtime/rag/rag.ts';
import type { Role } from '../../runtime/roles/role.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import type { RunCommand } from '../../runtime/tools/command.ts';
import type { OutputCap } from '../../runtime/tools/output.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import {
  type CommandDeps,
  checkNeeds,
  type Face,
  type FollowOn,
  isCommand,
  type TypedCommand,
} from './commands/command.ts';
import type { Runtime } from './open-runtime.ts';

/** Drives a run where an agent has others around it. */
export type Drive = <Command>(
  ctx: RequestContext,
  host: EnginePort<Command>,
  what: { request: RunRequest<Command>; emitter: Emitter },
) => Promise<RunOutcome>;

export interface DialogueDeps {
  runtime: Runtime;
  gate: PermissionGate;
  outputs: OutputCap;
  ask: AskFn;
  face: Face;
  home: string;
  drive?: Drive | undefined;
}

export interface Asking {
  emitter: Emitter;
  options: RunOptions;
}

/** A conversation in a context: every line, typed or of a macro, becomes one run of the engine. */
export class Dialogue {
  readonly ctx: RequestContext;
  readonly #deps: DialogueDeps;
  #sources: readonly RagHit[] = [];
  #isOver = false;
  #requests = 0;

  constructor(ctx: RequestContext, deps: DialogueDeps) {
    this.ctx = ctx;
    this.#deps = deps;
  }

  /** What was found for the last question. */
  get sources(): readonly RagHit[] {
    return this.#sources;
  }

  /** Somebody said `.exit`. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs a line as it was typed; a macro runs its lines in a context of its own. */
  async line(text: string, asking: Asking, ctx = this.ctx): Promise<RunOutcome> {
    if (!isCommand(text)) return this.#run(ctx, { input: userText(text) }, asking);
    const { parseCommand } = await import('./commands/table.ts');
    return this.#run(ctx, { command: parseCommand(text) }, asking);
  }

  ask(input: UserMessage, asking: Asking): Promise<RunOutcome> {
    return this.#run(this.ctx, { input }, asking);
  }

  /** Asks one question in a role, outside of all that was said. */
  async aside(role: Role, question: UserMessage, asking: Asking, ctx = this.ctx): Promise<RunOutcome> {
    const inner = await ctx.aside(role, asking.options.signal);
    try {
      return await this.#run(inner, { input: question }, asking);
    } finally {
      await inner.close();
    }
  }

  /** A question with sources beside it. */
  input(text: string, sources: readonly Source[], signal: AbortSignal): Promise<UserMessage> {
    return createInput(text, sources, inputDeps(this.ctx, this.#deps, signal));
  }

  async #run(
    ctx: RequestContext,
    what: { input?: UserMessage; command?: TypedCommand },
    { emitter, options }: Asking,
  ): Promise<RunOutcome> {
    const before = ctx.lastMessage;
    try {
      const { drive = alone } = this.#deps;
      const request = { requestId: this.#nextId(), ...what, options };
      return await drive(ctx, this.#host(ctx, options), { request, emitter });
    } catch (error) {
      // A question without an answer does not hide the last answer.
      if (ctx.lastMessage?.output === '') ctx.lastMessage = before;
      throw error;
    }
  }

  /** Unique among processes. It is no secret, so no start waits for randomness. */
  #nextId(): string {
    this.#requests += 1;
    const startedAt = Math.floor(performance.timeOrigin * 1_000);
    return [startedAt, process.pid, this.#requests].map((part) => part.toString(36)).join('-');
  }

  /** The context as the engine sees it, with our commands. A command that leads to a question may change its turn. */
  #host(ctx: RequestContext, options: RunOptions): EnginePort<TypedCommand> {
    let following: FollowOn | undefined;
    const { gate, outputs, ask } = this.#deps;
    const base = contextPort(ctx, {
      gate,
      outputs,
      ask,
      onSources: (hits) => {
        this.#sources = hits;
      },
      isBare: () => following?.isBare === true,
      adjust: (parts) => following?.adjust?.(parts) ?? parts,
    });
    return {
      ...base,
      command: async (command, io) => {
        checkNeeds(ctx, command.needs ?? []);
        following = (await command.run(this.#commandDeps(ctx, io, options), command.args)) ?? undefined;
        return following?.question;
      },
      keep: (turn, question) => (following?.keep ? following.keep(turn) : base.keep(turn, question)),
    };
  }

  #commandDeps(ctx: RequestContext, io: RunIo, options: RunOptions): CommandDeps {
    const inner: Asking = { emitter: within(io), options: { ...options, signal: io.signal } };
    return {
      ctx,
      io,
      face: this.#deps.face,
      say: (message) => io.emit({ type: 'info', message }),
      sources: () => this.#sources,
      input: (line) => {
        const { text, sources } = parseFileLine(line);
        return createInput(text, sources, inputDeps(ctx, this.#deps, io.signal));
      },
      aside: async (role, question) => void (await this.aside(role, question, inner, ctx)),
      line: async (other, text) => void (await this.line(text, inner, other)),
      leave: () => {
        this.#isOver = true;
      },
    };
  }
}

const alone: Drive = (_ctx, host, { request, emitter }) => run(host, request, emitter);

/** Passes on the events of a run inside a run, but not its beginning and end. */
function within(io: RunIo): Emitter {
  return {
    emit(event) {
      if (event.type !== 'started' && event.type !== 'finished' && event.type !== 'error') io.emit(event);
    },
  };
}

/** File endings that our own loaders read. */
const OURS = ['pdf', 'docx', 'html', 'htm'];

/** `.file` and `-f` read with the same loaders as a RAG. */
function inputDeps(ctx: RequestContext, { runtime, home }: DialogueDeps, signal: AbortSignal): InputDeps {
  const { config, cwd, environment } = ctx.app;
  return {
    cwd,
    home,
    shell: environment.REEF_SHELL ?? '/bin/sh',
    run: runtime.run,
    lastReply: ctx.lastMessage?.output === '' ? undefined : ctx.lastMessage?.output,
    loaders: [...new Set([...Object.keys(config.document_loaders), ...OURS])],
    signal,
    load: (source, aborted) => load(ctx, source, { run: runtime.run, signal: aborted }),
  };
}

async function load({ app }: RequestContext, source: string, deps: { run: RunCommand; signal: AbortSignal }) {
  const { documentsOf } = await import('../../runtime/rag/load/sources.ts');
  const settings = {
    cwd: app.cwd,
    loaders: app.config.document_loaders,
    fetch: globalThis.fetch,
    reveal: (words: string[]) => app.vault.fill(words, 'document_loaders'),
    ...deps,
  };
  const pieces: { source: string; text: string }[] = [];
  for await (const document of documentsOf([source], settings)) {
    deps.signal.throwIfAborted();
    pieces.push({ source: document.source, text: await document.text() });
  }
  if (pieces.length === 0) throw new ReefError('bad_request', `There is nothing to read at ${source}`);
  return pieces;
}
