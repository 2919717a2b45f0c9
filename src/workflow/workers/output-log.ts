import type { Readable } from 'node:stream';

const HALF = 32 * 1024 * 1024;

/** Keeps all of a stream up to 64 MiB; of a longer one the first and the last 32 MiB, and says so between. */
export class OutputLog {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  #headRoom: number;
  #tailBytes = 0;
  #cut = 0;

  constructor(half = HALF) {
    this.#half = half;
    this.#headRoom = half;
  }

  get cut(): number {
    return this.#cut;
  }

  push(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#headRoom);
    if (first.length > 0) this.#head.push(first);
    this.#headRoom -= first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    while (this.#tailBytes > this.#half) this.#drop(this.#tailBytes - this.#half);
  }

  bytes(): Buffer {
    const mark = this.#cut === 0 ? [] : [Buffer.from(`\n…[cut ${this.#cut} bytes]…\n`)];
    return Buffer.concat([...this.#head, ...mark, ...this.#tail]);
  }

  #drop(excess: number): void {
    const [oldest] = this.#tail;
    if (!oldest) return;
    const cut = Math.min(excess, oldest.length);
    if (cut === oldest.length) this.#tail.shift();
    else this.#tail[0] = oldest.subarray(cut);
    this.#tailBytes -= cut;
    this.#cut += cut;
  }
}

/** Resolves when the stream is over, however it ended. */
export function collect(stream: Readable): { log: OutputLog; over: Promise<void> } {
  const log = new OutputLog();
  stream.on('data', (chunk: Buffer) => log.push(chunk));
  const over = new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.once('error', () => resolve());
  });
  return { log, over };
}
