import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '../../base/printable.ts';
import type { Emitter, EngineEvent } from './emitter.ts';

export const nullEmitter: Emitter = { emit: () => undefined };

/** Keeps everything, for callers that want the whole answer, and for tests. */
export class CollectingEmitter implements Emitter {
  readonly events: EngineEvent[] = [];

  emit(event: EngineEvent): void {
    this.events.push(event);
  }
}

type Write = (text: string) => void | Promise<void>;

/** One object a line. */
export const jsonEmitter = (write: Write): Emitter => ({ emit: (event) => write(`${JSON.stringify(event)}\n`) });

/** Server-sent events. */
export const sseEmitter = (write: Write): Emitter => ({
  emit: (event) => write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
});

/** What a person is told besides the answer. */
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

/** Plain text for a person: the answer on one stream, all else on the other, nothing that acts on a terminal. */
export function terminalEmitter(streams: { answer: Write; notes: Write }): Emitter {
  let isMidLine = false;
  const answer = (event: EngineEvent): string => {
    if (event.type === 'assistant_delta') {
      isMidLine ||= event.kind === 'text';
      return event.kind === 'text' ? printable(event.text) : '';
    }
    if (event.type !== 'assistant_message_end') return '';
    const rest = isMidLine || event.text === '' ? '' : printable(event.text);
    const end = isMidLine || rest !== '' ? '\n' : '';
    isMidLine = false;
    return rest + end;
  };
  return {
    async emit(event) {
      const text = answer(event);
      if (text !== '') await streams.answer(text);
      const note = noteOf(event);
      if (note !== undefined) await streams.notes(`${printable(note)}\n`);
    },
  };
}

export interface EventSink {
  emit(event: EngineEvent): void;
  /** When all that was emitted has been taken, or its taker given up on. */
  flush(): Promise<void>;
}

const SLOWEST_MS = 5_000;

/** In order, and never in the way: an emitter that throws, or hangs for 5 s at the end, is left alone from then on. */
export function safeSink(emitters: readonly Emitter[]): EventSink {
  const lanes = emitters.map((emitter) => ({ emitter, isAttached: true, last: Promise.resolve() }));
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
      for (const lane of lanes) if (lane.isAttached) lane.last = lane.last.then(() => deliver(lane, event));
    },
    async flush() {
      const done = new AbortController();
      const patience = sleep(SLOWEST_MS, undefined, { signal: done.signal }).catch(() => undefined);
      await Promise.race([Promise.all(lanes.map(({ last }) => last)), patience]);
      done.abort();
    },
  };
}
