import { Worker } from 'node:worker_threads';
import { ReefError } from '../../protocol/errors.ts';
import type { EngineCode } from './engine-code.ts';
import { processMs } from './time-bound.ts';
import type { Answer, WorkerReply, WorkerRequest } from './worker-messages.ts';

const ENTRY = new URL('./parser-worker.ts', import.meta.url);
/** Beyond the parse itself: queries and a scanner that ignores the parser's own deadline. */
const GRACE_MS = 8_000;
const LOOK_MS = 1_000;

interface Waiting {
  request: WorkerRequest;
  settle: (outcome: Promise<Answer>) => void;
  timer: NodeJS.Timeout | undefined;
}

/** One thread, one request at a time. After a crash, a timeout or `end()` it is dead and takes no more. */
export class WorkerThread {
  readonly #worker: Worker;
  #ready = false;
  #waiting: Waiting | undefined;
  #sourceBytes = 0;
  #memoryBytes = 0;
  #dead = false;

  /** The heap is of JavaScript objects; trees live in WASM memory. */
  constructor(heapMb: number, code: EngineCode) {
    this.#worker = new Worker(ENTRY, {
      execArgv: [], // a loader or inspector meant for this process is not meant for the parser
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      workerData: code,
    });
    this.#worker.on('message', (reply: WorkerReply) => this.#onReply(reply));
    this.#worker.on('error', (error) => this.#onDeath(error));
    this.#worker.on('exit', () => this.#onDeath('it ended'));
    this.#worker.unref(); // an idle parser keeps no process alive
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** What it has read, and how large its memory has become (C-043). */
  get wear(): { sourceBytes: number; memoryBytes: number } {
    return { sourceBytes: this.#sourceBytes, memoryBytes: this.#memoryBytes };
  }

  run(request: WorkerRequest): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting = { request, settle: resolve, timer: undefined };
    this.#sourceBytes += request.source.byteLength;
    this.#worker.ref();
    if (this.#ready) this.#post(this.#waiting);
    return promise;
  }

  async end(): Promise<void> {
    this.#dead = true;
    await this.#worker.terminate();
  }

  #post(waiting: Waiting): void {
    const { request } = waiting;
    this.#bound(waiting, request.parseMs + GRACE_MS);
    // A copy of its own: cloning a view would clone the whole buffer behind it.
    const source = new Uint8Array(request.source);
    this.#worker.postMessage({ ...request, source }, [source.buffer]);
  }

  #onReply(reply: WorkerReply): void {
    if (reply.type === 'ready') {
      this.#ready = true;
      if (this.#waiting !== undefined) this.#post(this.#waiting);
    } else if (reply.type === 'broken') {
      this.#dead = true;
      this.#settle(Promise.reject(unavailable(reply.message)));
      void this.#worker.terminate();
    } else {
      this.#memoryBytes = reply.memoryBytes;
      this.#settle(Promise.resolve(reply.answer));
    }
  }

  #settle(outcome: Promise<Answer>): void {
    const waiting = this.#waiting;
    if (waiting === undefined) {
      outcome.catch(() => {}); // nobody waits for it
      return;
    }
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    this.#worker.unref();
    waiting.settle(outcome);
  }

  /** Before it was ready no file can be to blame. */
  #onDeath(cause: unknown): void {
    this.#dead = true;
    this.#settle(this.#ready ? Promise.resolve({ skipped: 'crash' }) : Promise.reject(unavailable(cause)));
  }

  /** Given up when the clock and the process have both run so long: a machine that is busy elsewhere is no fault of the file. */
  #bound(waiting: Waiting, ms: number): void {
    const used = processMs();
    const look = () => {
      if (processMs() - used < ms) waiting.timer = setTimeout(look, LOOK_MS);
      else this.#giveUp();
    };
    waiting.timer = setTimeout(look, ms);
  }

  #giveUp(): void {
    this.#dead = true;
    this.#settle(Promise.resolve({ skipped: 'timeout' }));
    void this.#worker.terminate();
  }
}

export function unavailable(cause: unknown): ReefError {
  return new ReefError('parser_unavailable', `The parser does not load: ${cause}`, { cause });
}
