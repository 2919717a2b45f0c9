import { createInterface } from 'node:readline';
import { parseJson } from '../../base/safe-json.ts';
import type { Answer } from '../adapter.ts';
import { type InputLine, inputLineSchema, type OutputLine } from './lines.ts';

type Ask = Extract<OutputLine, { do: 'ask' }>;

/** A program's side of the reef protocol: reads every line, acknowledges it, and keeps it until it is asked for. */
export class ReefConnection {
  readonly #out: NodeJS.WritableStream;
  readonly #messages: string[] = [];
  readonly #seen = new Set<string>();
  readonly #open = new Map<string | number, (answers: Answer[]) => void>();
  #turn: AbortController | undefined;
  /** An interrupt that came after a message and before its turn. */
  #interruptsNext = false;
  #isEnded = false;
  #wake: () => void = () => {};

  constructor(input: NodeJS.ReadableStream, out: NodeJS.WritableStream) {
    this.#out = out;
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on('line', (line) => this.#take(line));
    lines.on('close', () => {
      this.#isEnded = true;
      this.#wake();
    });
  }

  write(line: OutputLine): void {
    this.writeRaw(JSON.stringify(line));
  }

  writeRaw(line: string): void {
    this.#out.write(`${line}\n`);
  }

  /** The next message; undefined when there will be none. */
  async nextMessage(): Promise<string | undefined> {
    while (this.#messages.length === 0 && !this.#isEnded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#messages.shift();
  }

  /** The signal is the interrupt of this turn. */
  beginTurn(): AbortSignal {
    this.#turn = new AbortController();
    this.write({ do: 'turn', is: 'begun' });
    if (this.#interruptsNext) this.#turn.abort();
    this.#interruptsNext = false;
    return this.#turn.signal;
  }

  endTurn(end: Extract<OutputLine, { do: 'turn' }>): void {
    const by = this.#turn?.signal.aborted ? 'interrupt' : 'turn';
    while (this.withdrawLast(by));
    this.#turn = undefined;
    this.write(end);
  }

  /** Never settles once the request is withdrawn. */
  ask(requestId: string, questions: Ask['questions']): Promise<Answer[]> {
    this.write({ do: 'ask', requestId, questions });
    return new Promise((resolve) => this.#open.set(requestId, resolve));
  }

  withdrawLast(by: string): boolean {
    const requestId = [...this.#open.keys()].at(-1);
    if (requestId === undefined) return false;
    this.#open.delete(requestId);
    this.write({ do: 'withdraw', requestId, by });
    return true;
  }

  #take(line: string): void {
    const parsed = parseJson(line);
    const { data: input } = inputLineSchema.safeParse(parsed.ok ? parsed.value : undefined);
    if (!input) {
      process.stderr.write(`not a line of the reef protocol: ${line.slice(0, 200)}\n`);
      return;
    }
    this.write({ ack: input.id });
    if (this.#seen.has(input.id)) return;
    this.#seen.add(input.id);
    this.#use(input);
  }

  #use(input: InputLine): void {
    if ('text' in input) {
      this.#messages.push(input.text);
      this.#wake();
    } else if ('interrupt' in input) {
      this.#interruptsNext = this.#turn === undefined && this.#messages.length > 0;
      this.#turn?.abort();
    } else {
      const answered = this.#open.get(input.requestId);
      this.#open.delete(input.requestId);
      answered?.(input.answers);
    }
  }
}
