import { once } from 'node:events';
import { Transform, type TransformCallback, type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { LineSplitter } from '../../base/line-splitter.ts';

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** An input may hold a text of 1 MiB, and JSON escapes make it longer. */
const MAX_LINE_BYTES = 8 * 1_048_576;

/** Answers lines that are no messages with an error. The SDK would ignore them, or end the connection at a long one. */
export class ProtocolLines extends Transform {
  readonly #lines: LineSplitter;

  /** `take` is shown each message first, and keeps those that it answers itself. */
  constructor(reply: (message: object) => void, take: (value: unknown, text: string) => boolean = () => false) {
    super();
    const refuse = (refusal: Refusal) => reply({ jsonrpc: '2.0', ...refusal });
    this.#lines = new LineSplitter({
      longest: MAX_LINE_BYTES,
      onLine: (line) => {
        const text = line.trim();
        const value = parsed(text);
        if (value !== undefined && take(value, text)) return;
        const refusal = refusalOf(text, value);
        if (refusal) refuse(refusal);
        else if (text !== '') this.pass(text);
      },
      onTooLong: () => refuse(TOO_LONG),
    });
  }

  /** On to the server, unless the client has gone. */
  pass(text: string): void {
    if (!this.destroyed && !this.writableEnded) this.push(`${text}\n`);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#lines.push(chunk);
    done();
  }
}

/** A client that does not read its answers gets no more of them. */
const MOST_UNREAD_BYTES = 1_048_576;

/** One message a turn of the event loop, for the daemon serves others too; none while too many answers wait to be read. */
export class Paced extends Transform {
  readonly #answers: Writable;

  constructor(answers: Writable) {
    super();
    this.#answers = answers;
  }

  override _transform(message: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    void this.#turn().then(() => done(null, message));
  }

  async #turn(): Promise<void> {
    await nextTurn();
    if (this.#answers.writableLength <= MOST_UNREAD_BYTES || !this.#answers.writableNeedDrain) return;
    await Promise.race([once(this.#answers, 'drain'), once(this.#answers, 'close')]).catch(() => undefined);
  }
}

interface Refusal {
  /** Absent where it is not known. */
  id?: string | number;
  error: { code: number; message: string };
}

const TOO_LONG: Refusal = { error: { code: INVALID_REQUEST, message: `A message is over ${MAX_LINE_BYTES} bytes` } };

/** Undefined, which no JSON is, where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalOf(text: string, value: unknown): Refusal | undefined {
  if (text === '') return undefined;
  if (value === undefined) return { error: { code: PARSE_ERROR, message: 'Not JSON' } };
  try {
    parseJSONRPCMessage(value);
    return undefined;
  } catch {
    return { ...idOf(value), error: { code: INVALID_REQUEST, message: 'Not a JSON-RPC 2.0 message' } };
  }
}

function idOf(value: unknown): Pick<Refusal, 'id'> {
  const id = (value as { id?: unknown } | null)?.id;
  return typeof id === 'string' || typeof id === 'number' ? { id } : {};
}
