import { systemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import { PrintableStream } from '../../base/printable-stream.ts';
import { Limiter } from '../../base/serial.ts';
import { settledWithin } from '../../base/wait.ts';
import type { ErrorBody } from '../../protocol/errors.ts';
import type { Usage } from '../models/client.ts';

export interface RunOutcome {
  request_id: string;
  session_id?: string;
  final_message?: string;
  tool_call_count: number;
  turns: number;
  compressed: boolean;
  autonamed: boolean;
  auto_continued: number;
  usage: Usage;
  cost: number | null;
}

/** Every surface renders these events and nothing else. Questions go through `AskFn`. */
export type EngineEvent =
  | { type: 'started'; request_id: string; session_id?: string; model: string }
  | { type: 'assistant_delta'; kind: 'text' | 'reasoning'; text: string }
  | { type: 'assistant_message_end'; text: string; usage: Usage; cost: number | null; interrupted?: true }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }
  | { type: 'tool_result'; id: string; name: string; output: string; is_error: boolean }
  | { type: 'auto_continue_triggered'; count: number; max: number }
  | { type: 'session_compressing' }
  | { type: 'session_compressed' }
  | { type: 'session_autonamed'; name: string }
  | { type: 'info'; message: string }
  | { type: 'warning'; message: string }
  | { type: 'error'; error: ErrorBody['error'] }
  | { type: 'finished'; outcome: RunOutcome };

export interface Emitter {
  emit(event: EngineEvent): void | Promise<void>;
}

export const nullEmitter: Emitter = { emit: () => undefined };

type Write = (text: string) => void | Promise<void>;

function noteOf(event: EngineEvent): string | undefined {
  switch (event.type) {
    case 'tool_call':
      return `${event.name} ${JSON.stringify(event.arguments)}`;
    case 'info':
      return event.message;
    case 'warning':
      return `warning: ${event.message}`;
    case 'error':
      return `error: ${event.error.message}. ${event.error.hint}`;
    case 'session_autonamed':
      return `the session is now called ${event.name}`;
    case 'auto_continue_triggered':
      return `goes on by itself (${event.count} of ${event.max})`;
    default:
      return undefined;
  }
}

/** Where the text of answers goes. */
export interface AnswerSink {
  part(text: string): void | Promise<void>;
  /** The answer is over, or broken off. */
  end(): void | Promise<void>;
  /** Something else is written between two parts. */
  pause(): void;
}

/** Writes answers as they are, without control characters. */
export function plainAnswer(write: Write): AnswerSink {
  const cleaned = new PrintableStream();
  return {
    part: (text) => write(cleaned.take(text)),
    end: () => write(`${cleaned.end()}\n`),
    pause: () => undefined,
  };
}

/** Writes the answer to one stream, and everything else to the other without control characters. */
export function terminalEmitter(streams: { answer: AnswerSink; notes: Write }): Emitter & { end(): Promise<void> } {
  let isMidAnswer = false;
  const answer = async (event: EngineEvent) => {
    const isWhole = event.type === 'assistant_message_end';
    const text =
      (isWhole && !isMidAnswer) || (event.type === 'assistant_delta' && event.kind === 'text') ? event.text : '';
    if (text !== '') await streams.answer.part(text);
    isMidAnswer ||= text !== '';
    if (isWhole || event.type === 'error') await end();
  };
  const end = async () => {
    if (isMidAnswer) await streams.answer.end();
    isMidAnswer = false;
  };
  return {
    async emit(event) {
      await answer(event);
      const note = noteOf(event);
      if (note === undefined) return;
      if (isMidAnswer) streams.answer.pause();
      await streams.notes(`${printable(note)}\n`);
    },
    /** An answer that was broken off ends here. */
    end,
  };
}

export interface EventSink {
  emit(event: EngineEvent): void;
  /** Waits until every emitter has taken all events, or was given up. */
  flush(): Promise<void>;
}

const SLOWEST_MS = 5_000;

/** Delivers events in order. An emitter that throws gets no more; one that hangs is waited for 5 s at the end. */
export function safeSink(emitters: readonly Emitter[]): EventSink {
  const lanes = emitters.map((emitter) => ({ emitter, isAttached: true, turn: new Limiter() }));
  const deliver = async (lane: (typeof lanes)[number], event: EngineEvent) => {
    if (!lane.isAttached) return;
    try {
      await lane.emitter.emit(event);
    } catch {
      lane.isAttached = false;
    }
  };
  return {
    emit(event) {
      for (const lane of lanes) if (lane.isAttached) void lane.turn.run(() => deliver(lane, event));
    },
    async flush() {
      const all = Promise.all(lanes.map(({ turn }) => turn.run(async () => {})));
      await settledWithin(systemClock, SLOWEST_MS, all);
    },
  };
}
