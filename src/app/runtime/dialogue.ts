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
import { type CommandDeps, type CoreCommand, type Face, type FollowOn, isCommand } from './commands/command.ts';
import type { Runtime } from './open-runtime.ts';

/** How a run is driven where an agent has others around it. */
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

interface Aside {
  role: Role;
  question: UserMessage;
  asking: Asking;
}

/** A context and whoever talks in it: every line, typed or of a macro, becomes one run of the engine. */
export class Dialogue {
  readonly ctx: RequestContext;
  readonly #parts: DialogueDeps;
  #sources: readonly RagHit[] = [];
  #isOver = false;
  #requests = 0;

  constructor(ctx: RequestContext, parts: DialogueDeps) {
    this.ctx = ctx;
    this.#parts = parts;
  }

  /** What was found for the last question. */
  get sources(): readonly RagHit[] {
    return this.#sources;
  }

  /** Somebody said `.exit`. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A line as it was typed. */
  line(text: string, asking: Asking): Promise<RunOutcome> {
    return this.#line(this.ctx, text, asking);
  }

  ask(input: UserMessage, asking: Asking): Promise<RunOutcome> {
    return this.#run(this.ctx, { input }, asking);
  }

  /** One question in a role, outside of all that was said. */
  aside(role: Role, question: UserMessage, asking: Asking): Promise<RunOutcome> {
    return this.#aside(this.ctx, { role, question, asking });
  }

  /** A question with sources beside it. */
  input(text: string, sources: readonly Source[], signal: AbortSignal): Promise<UserMessage> {
    return createInput(text, sources, inputDeps(this.ctx, { ...this.#parts, signal }));
  }

  async #aside(ctx: RequestContext, { role, question, asking }: Aside): Promise<RunOutcome> {
    const inner = await ctx.aside(role, asking.options.signal);
    try {
      return await this.#run(inner, { input: question }, asking);
    } finally {
      await inner.close();
    }
  }

  async #line(ctx: RequestContext, text: string, asking: Asking): Promise<RunOutcome> {
    if (!isCommand(text)) return this.#run(ctx, { input: userText(text) }, asking);
    const { parseCommand } = await import('./commands/table.ts');
    return this.#run(ctx, { command: parseCommand(text) }, asking);
  }

  async #run(
    ctx: RequestContext,
    what: { input?: UserMessage; command?: CoreCommand },
    { emitter, options }: Asking,
  ): Promise<RunOutcome> {
    const before = ctx.lastMessage;
    try {
      const { drive = alone } = this.#parts;
      const request = { requestId: this.#nextId(), ...what, options };
      return await drive(ctx, this.#host(ctx, options), { request, emitter });
    } catch (error) {
      // A question nobody answered a word to does not make the last answer unreachable.
      if (ctx.lastMessage?.output === '') ctx.lastMessage = before;
      throw error;
    }
  }

  /** Told apart from those of other processes; a name, no secret, and a start need not wait for a source of chance. */
  #nextId(): string {
    this.#requests += 1;
    const startedAt = Math.floor(performance.timeOrigin * 1_000);
    return [startedAt, process.pid, this.#requests].map((part) => part.toString(36)).join('-');
  }

  /** The context as the engine sees it, with our commands; one that goes on with a question may change how. */
  #host(ctx: RequestContext, options: RunOptions): EnginePort<CoreCommand> {
    let following: FollowOn | undefined;
    const { gate, outputs, ask } = this.#parts;
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
        following = await this.#execute(ctx, command, { io, options });
        return following?.question;
      },
      keep: (turn, question) => (following?.keep ? following.keep(turn) : base.keep(turn, question)),
    };
  }

  async #execute(
    ctx: RequestContext,
    command: CoreCommand,
    { io, options }: { io: RunIo; options: RunOptions },
  ): Promise<FollowOn | undefined> {
    const { findCommand } = await import('./commands/table.ts');
    const found = findCommand(command);
    for (const condition of found.needs ?? []) {
      const first = condition(ctx);
      if (first !== undefined) throw new ReefError('invalid_state', first);
    }
    return (await found.run(this.#commandDeps(ctx, io, options), command.args)) ?? undefined;
  }

  #commandDeps(ctx: RequestContext, io: RunIo, options: RunOptions): CommandDeps {
    const inner: Asking = { emitter: within(io), options: { ...options, signal: io.signal } };
    return {
      ctx,
      io,
      face: this.#parts.face,
      say: (message) => io.emit({ type: 'info', message }),
      sources: () => this.#sources,
      input: (line) => {
        const { text, sources } = parseFileLine(line);
        return createInput(text, sources, inputDeps(ctx, { ...this.#parts, signal: io.signal }));
      },
      aside: async (role, question) => void (await this.#aside(ctx, { role, question, asking: inner })),
      line: async (other, text) => void (await this.#line(other, text, inner)),
      leave: () => {
        this.#isOver = true;
      },
    };
  }
}

const alone: Drive = (_ctx, host, { request, emitter }) => run(host, request, emitter);

/** What is told of a run inside a run: everything but its beginning and end, which are ours. */
function within(io: RunIo): Emitter {
  return {
    emit(event) {
      if (event.type !== 'started' && event.type !== 'finished' && event.type !== 'error') io.emit(event);
    },
  };
}

interface InputSources {
  runtime: Runtime;
  home: string;
  signal: AbortSignal;
}

/** Endings our own loaders read where nothing is configured. */
const OURS = ['pdf', 'docx', 'html', 'htm'];

/** What `.file` and `-f` read with: the same loaders as a RAG has. */
function inputDeps(ctx: RequestContext, { runtime, home, signal }: InputSources): InputDeps {
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
