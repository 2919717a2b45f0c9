import { ReefError, toReefError } from '../../protocol/errors.ts';
import { addCost, addUsage, noUsage } from '../models/client.ts';
import { type UserMessage, userText } from '../models/message.ts';
import { type Emitter, type EngineEvent, type EventSink, type RunOutcome, safeSink } from './emitter.ts';
import type { TurnDeps, TurnResult } from './turn-deps.ts';
import { runTurn } from './turn-loop.ts';

export type RunOptions = Readonly<
  Record<
    | 'stream'
    | 'extract_code'
    | 'auto_continue'
    | 'compress_session'
    | 'autoname_session'
    | 'apply_prelude'
    | 'with_embeddings',
    boolean
  >
> & { signal?: AbortSignal | undefined };

const EVERYTHING: RunOptions = {
  stream: true,
  extract_code: false,
  auto_continue: true,
  compress_session: true,
  autoname_session: true,
  apply_prelude: true,
  with_embeddings: true,
};

/** Surfaces differ in these options and in nothing else. */
export const PRESETS = {
  cli: EVERYTHING,
  repl_turn: EVERYTHING,
  api_session: { ...EVERYTHING, apply_prelude: false },
} satisfies Readonly<Record<string, RunOptions>>;

export interface FollowUp {
  text: string;
  count: number;
  max: number;
}

/** What the engine needs of whoever holds the conversation: a request's context, or a job. */
export interface EnginePort<Command = never> {
  sessionId(): string | undefined;
  modelId(): string;
  /** A dot-command; what it returns is a question to go on with. */
  command?(command: Command, io: RunIo): Promise<UserMessage | undefined>;
  applyPrelude?(signal: AbortSignal): Promise<unknown>;
  /** The question as the model gets it, with what was retrieved for it. Waits for a compression under way. */
  prepare(input: UserMessage, how: { with_embeddings: boolean }, io: RunIo): Promise<UserMessage>;
  /** Holds off whatever would change the scope during a turn; call what it gives when the turn is over. */
  beginTurn?(): Promise<() => void>;
  /** Whatever the turn is made from. Called once per turn, for a turn may change what the next one is made from. */
  turn(question: UserMessage, io: RunIo & { stream: boolean }): TurnDeps | Promise<TurnDeps>;
  /** In place of a model's answer: what would be sent. */
  dryRun?(question: UserMessage): Promise<string | undefined>;
  /** The turn as one unit into the history, also one that was cut short. */
  keep(turn: TurnResult, question: UserMessage): Promise<void>;
  /** What an agent with open work is told in place of stopping. */
  followUp?(turn: TurnResult): FollowUp | undefined;
  compress?(io: RunIo): Promise<boolean>;
  autoname?(io: RunIo): Promise<string | undefined>;
}

export interface RunIo {
  emit: (event: EngineEvent) => void;
  signal: AbortSignal;
}

export interface RunRequest<Command> {
  requestId: string;
  input?: UserMessage | undefined;
  command?: Command | undefined;
  options: RunOptions;
}

/**
 * One request from its beginning to its end: command, prelude, input, turns, compression, autoname, and on by itself while
 * work is open. Rejects with what stopped it; everything done until then is kept and told.
 */
export async function run<Command>(
  host: EnginePort<Command>,
  request: RunRequest<Command>,
  emitter: Emitter | readonly Emitter[],
): Promise<RunOutcome> {
  const sink = safeSink(Array.isArray(emitter) ? emitter : [emitter as Emitter]);
  const engine = new Run(host, request, sink);
  try {
    return await engine.run();
  } catch (error) {
    sink.emit({ type: 'error', error: toReefError(error).toBody().error });
    sink.emit({ type: 'finished', outcome: engine.outcome() });
    throw error;
  } finally {
    await sink.flush();
  }
}

class Run<Command> {
  readonly #host: EnginePort<Command>;
  readonly #request: RunRequest<Command>;
  readonly #io: RunIo;
  #outcome: RunOutcome;

  constructor(host: EnginePort<Command>, request: RunRequest<Command>, sink: EventSink) {
    this.#host = host;
    this.#request = request;
    this.#io = { emit: (event) => sink.emit(event), signal: request.options.signal ?? new AbortController().signal };
    this.#outcome = {
      request_id: request.requestId,
      tool_call_count: 0,
      turns: 0,
      compressed: false,
      autonamed: false,
      auto_continued: 0,
      usage: noUsage,
      cost: 0,
    };
  }

  outcome(): RunOutcome {
    const sessionId = this.#host.sessionId();
    return { ...this.#outcome, ...(sessionId !== undefined && { session_id: sessionId }) };
  }

  async run(): Promise<RunOutcome> {
    const { emit, signal } = this.#io;
    const { options, command, input, requestId } = this.#request;
    const sessionId = this.#host.sessionId();
    emit({
      type: 'started',
      request_id: requestId,
      model: this.#host.modelId(),
      ...(sessionId !== undefined && { session_id: sessionId }),
    });
    const asked = command === undefined ? input : ((await this.#host.command?.(command, this.#io)) ?? input);
    if (asked) {
      if (options.apply_prelude) await this.#host.applyPrelude?.(signal);
      await this.#converse(asked);
    }
    const outcome = this.outcome();
    emit({ type: 'finished', outcome });
    return outcome;
  }

  async #converse(input: UserMessage): Promise<void> {
    const { options } = this.#request;
    const how = { with_embeddings: options.with_embeddings };
    let question = await this.#host.prepare(input, how, this.#io);
    let previous: string | undefined;
    while (true) {
      const turn = await this.#turn(question);
      if (turn === undefined) return;
      await this.#afterTurn();
      const next = this.#next(turn, previous);
      if (!next) return;
      previous = turn.text;
      this.#outcome.auto_continued += 1;
      this.#io.emit({ type: 'auto_continue_triggered', count: next.count, max: next.max });
      question = userText(next.text);
    }
  }

  /** Undefined when nobody was asked. */
  async #turn(question: UserMessage): Promise<TurnResult | undefined> {
    const { stream, extract_code } = this.#request.options;
    const dry = await this.#host.dryRun?.(question);
    if (dry !== undefined) {
      this.#outcome.final_message = dry;
      this.#io.emit({ type: 'assistant_message_end', text: dry, usage: noUsage, cost: null });
      return undefined;
    }
    const endTurn = await this.#host.beginTurn?.();
    try {
      const parts = await this.#host.turn(question, { ...this.#io, stream: stream && !extract_code });
      const turn = await runTurn(parts, [question]);
      this.#count(turn);
      // A question nobody answered a word to can simply be asked again.
      if (turn.messages.length > 1) await this.#host.keep(turn, question);
      if (turn.error) throw turn.error;
      return turn;
    } finally {
      endTurn?.();
    }
  }

  #count(turn: TurnResult): void {
    const { extract_code } = this.#request.options;
    this.#outcome = {
      ...this.#outcome,
      final_message: extract_code ? extractCode(turn.text) : turn.text,
      tool_call_count: this.#outcome.tool_call_count + turn.tool_call_count,
      turns: this.#outcome.turns + 1,
      usage: addUsage(this.#outcome.usage, turn.usage),
      cost: addCost(this.#outcome.cost, turn.cost),
    };
  }

  /** A failure here is news, not the end: the answer has been given and kept. */
  async #afterTurn(): Promise<void> {
    const { options } = this.#request;
    await this.#quietly(async () => {
      if (options.compress_session && (await this.#host.compress?.(this.#io))) this.#outcome.compressed = true;
    });
    await this.#quietly(async () => {
      const name = options.autoname_session ? await this.#host.autoname?.(this.#io) : undefined;
      if (name === undefined) return;
      this.#outcome.autonamed = true;
      this.#io.emit({ type: 'session_autonamed', name });
    });
  }

  async #quietly(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.#io.signal.aborted) throw new ReefError('cancelled', 'The run was cancelled', { cause: error });
      this.#io.emit({ type: 'warning', message: toReefError(error).message });
    }
  }

  /** An agent that says the same again has nothing more to say. */
  #next(turn: TurnResult, previous: string | undefined): FollowUp | undefined {
    if (!this.#request.options.auto_continue) return undefined;
    if (turn.text === previous && turn.tool_call_count === 0) return undefined;
    return this.#host.followUp?.(turn);
  }
}

/** The code of an answer, without the words around it: all fenced blocks, or the whole text where there is none (`-c`). */
export function extractCode(text: string): string {
  const blocks: string[] = [];
  let open: { fence: string; lines: string[] } | undefined;
  for (const line of text.split('\n')) {
    const [, fence] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
    if (!open) {
      if (fence !== undefined) open = { fence, lines: [] };
    } else if (fence?.startsWith(open.fence) && line.trim() === fence) {
      blocks.push(open.lines.join('\n'));
      open = undefined;
    } else open.lines.push(line);
  }
  if (open) blocks.push(open.lines.join('\n'));
  return blocks.length === 0 ? text.trim() : blocks.join('\n\n');
}
