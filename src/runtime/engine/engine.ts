import { ReefError, toReefError } from '../../protocol/errors.ts';
import { addCost, addUsage, noUsage } from '../models/client.ts';
import { type UserMessage, userText } from '../models/message.ts';
import { type Emitter, type EngineEvent, type EventSink, type RunOutcome, safeSink } from './emitter.ts';
import type { TurnDeps, TurnResult } from './turn-deps.ts';
import { runTurn } from './turn-loop.ts';

export interface RunOptions {
  stream: boolean;
  extract_code: boolean;
  apply_prelude: boolean;
  signal?: AbortSignal | undefined;
}

const AT_A_TERMINAL: RunOptions = { stream: true, extract_code: false, apply_prelude: true };

/** Surfaces differ in these options and in nothing else. */
export const PRESETS = {
  cli: AT_A_TERMINAL,
  repl_turn: AT_A_TERMINAL,
  api_session: { ...AT_A_TERMINAL, apply_prelude: false },
} satisfies Readonly<Record<string, RunOptions>>;

export interface FollowUp {
  text: string;
  count: number;
  max: number;
}

/** The conversation a run belongs to, as the engine sees it. */
export interface EnginePort<Command = never> {
  sessionId(): string | undefined;
  modelId(): string;
  /** Runs a dot-command. The message it returns is asked next. */
  command?(command: Command, io: RunIo): Promise<UserMessage | undefined>;
  applyPrelude?(signal: AbortSignal): Promise<unknown>;
  /** Adds what the RAG finds for the question. Waits for a compression under way. */
  prepare(input: UserMessage, io: RunIo): Promise<UserMessage>;
  /** Keeps the scope from changing during a turn, until the returned function is called. */
  beginTurn?(): Promise<() => void>;
  /** Called once per turn: a turn may change the model or the tools of the next. */
  turn(question: UserMessage, io: RunIo & { stream: boolean }): TurnDeps | Promise<TurnDeps>;
  /** The prompt that would be sent, if the run is a dry one. */
  dryRun?(question: UserMessage): Promise<string | undefined>;
  /** Stores a turn in the history, also one that was cut short. */
  keep(turn: TurnResult, question: UserMessage): Promise<void>;
  /** The next message for an agent that still has open work. */
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
 * Serves one request: command, prelude, turns, compression, autoname, and further turns while work is open. It rejects with the
 * error that stopped it; everything done until then is stored and emitted.
 */
export async function run<Command>(
  port: EnginePort<Command>,
  request: RunRequest<Command>,
  ...emitters: readonly Emitter[]
): Promise<RunOutcome> {
  const sink = safeSink(emitters);
  const engine = new Run(port, request, sink);
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
  readonly #port: EnginePort<Command>;
  readonly #request: RunRequest<Command>;
  readonly #io: RunIo;
  #outcome: RunOutcome;

  constructor(port: EnginePort<Command>, request: RunRequest<Command>, sink: EventSink) {
    this.#port = port;
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
    const sessionId = this.#port.sessionId();
    return { ...this.#outcome, ...(sessionId !== undefined && { session_id: sessionId }) };
  }

  async run(): Promise<RunOutcome> {
    const { emit, signal } = this.#io;
    const { options, command, input, requestId } = this.#request;
    const sessionId = this.#port.sessionId();
    emit({
      type: 'started',
      request_id: requestId,
      model: this.#port.modelId(),
      ...(sessionId !== undefined && { session_id: sessionId }),
    });
    const asked = command === undefined ? input : ((await this.#port.command?.(command, this.#io)) ?? input);
    if (asked) {
      if (options.apply_prelude) await this.#port.applyPrelude?.(signal);
      await this.#converse(asked);
    }
    const outcome = this.outcome();
    emit({ type: 'finished', outcome });
    return outcome;
  }

  async #converse(input: UserMessage): Promise<void> {
    let question = await this.#port.prepare(input, this.#io);
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

  /** Undefined for a dry run. */
  async #turn(question: UserMessage): Promise<TurnResult | undefined> {
    const { stream, extract_code } = this.#request.options;
    const dry = await this.#port.dryRun?.(question);
    if (dry !== undefined) {
      this.#outcome.final_message = dry;
      this.#io.emit({ type: 'assistant_message_end', text: dry, usage: noUsage, cost: null });
      return undefined;
    }
    const endTurn = await this.#port.beginTurn?.();
    try {
      const deps = await this.#port.turn(question, { ...this.#io, stream: stream && !extract_code });
      const turn = await runTurn(deps, [question]);
      this.#count(turn);
      // Without a word of answer the question can simply be asked again.
      if (turn.messages.length > 1) await this.#port.keep(turn, question);
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

  /** A failure here is only a warning: the answer has been given and stored. */
  async #afterTurn(): Promise<void> {
    await this.#quietly(async () => {
      if (await this.#port.compress?.(this.#io)) this.#outcome.compressed = true;
    });
    await this.#quietly(async () => {
      const name = await this.#port.autoname?.(this.#io);
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

  /** An agent that repeats itself without using a tool is done. */
  #next(turn: TurnResult, previous: string | undefined): FollowUp | undefined {
    if (turn.text === previous && turn.tool_call_count === 0) return undefined;
    return this.#port.followUp?.(turn);
  }
}

/** All fenced blocks of an answer, or the whole text if it has none (`-c`). */
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
