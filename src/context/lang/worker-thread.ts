import { Worker } from 'node:worker_threads';
import type { Language } from './contract.ts';
import { processMs } from './time-bound.ts';
import { type ParserCode, unavailable, type WasmCode } from './wasm-code.ts';
import type { Answer, ParseRequest, WorkerData, WorkerReply, WorkerRequest } from './worker-messages.ts';

const ENTRY = new URL('./parser-worker.ts', import.meta.url);
/** Time beyond the parse: for queries, and for a scanner that ignores the deadline of the parser. */
const GRACE_MS = 8_000;
const LOOK_MS = 1_000;

/** The thread died of another file before it reached this one. */
export const UNSERVED = Symbol('unserved');
type Outcome = Answer | typeof UNSERVED;

interface Waiting {
  request: WorkerRequest;
  settle: (outcome: Promise<Outcome>) => void;
}

/** One parser thread. It gets requests in advance. After a crash, a timeout or `end()` it takes no more. */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #code: ParserCode;
  readonly #underWay = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #waiting = new Map<number, Waiting>();
  readonly #given = new Set<Language>();
  #lastId = 0;
  #answers = 0;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #waitingBytes = 0;
  #sourceBytes = 0;
  #memoryBytes = 0;
  isDead = false;
  /** Dead, and its memory is free. */
  isGone = false;

  /** The heap is that of JavaScript objects. Trees are in WASM memory. */
  constructor(heapMb: number, code: ParserCode) {
    this.#code = code;
    const workerData: WorkerData = { engine: code.engine(), underWay: this.#underWay };
    this.#worker = new Worker(ENTRY, {
      execArgv: [], // without the loader or inspector of this process
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      workerData,
    });
    this.#worker.on('message', (reply: WorkerReply) => this.#onReply(reply));
    this.#worker.on('error', (error) => this.#onDeath(error));
    this.#worker.on('exit', () => {
      this.isGone = true;
      this.#onDeath('it ended');
    });
    this.#worker.unref(); // an idle parser keeps no process alive
  }

  get load(): { requests: number; bytes: number } {
    return { requests: this.#waiting.size, bytes: this.#waitingBytes };
  }

  /** What it has read in all, and the size of its WASM memory. */
  get wear(): { sourceBytes: number; memoryBytes: number } {
    return { sourceBytes: this.#sourceBytes, memoryBytes: this.#memoryBytes };
  }

  async run(asked: ParseRequest): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#lastId += 1;
    const request = { ...asked, id: this.#lastId, grammar: this.#grammarFor(asked.language) };
    this.#waiting.set(request.id, { request, settle: resolve });
    this.#waitingBytes += request.source.byteLength;
    this.#sourceBytes += request.source.byteLength;
    this.#worker.ref();
    if (this.#ready) this.#post(request);
    return promise;
  }

  async end(): Promise<void> {
    this.isDead = true;
    await this.#worker.terminate();
  }

  #grammarFor(language: Language): WasmCode | undefined {
    if (this.#given.has(language)) return undefined;
    const grammar = this.#code.grammar(language);
    this.#given.add(language);
    return grammar;
  }

  #post(request: WorkerRequest): void {
    if (this.#timer === undefined) this.#watch(request.parseMs + GRACE_MS);
    // A copy, because transferring a view would transfer the whole buffer behind it.
    const source = new Uint8Array(request.source);
    this.#worker.postMessage({ ...request, source }, [source.buffer]);
  }

  #onReply(reply: WorkerReply): void {
    if (reply.type === 'ready') {
      this.#ready = true;
      for (const { request } of this.#waiting.values()) this.#post(request);
    } else if (reply.type === 'broken') {
      void this.end();
      this.#settleAll(() => Promise.reject(unavailable(reply.message)));
    } else {
      this.#memoryBytes = reply.memoryBytes;
      this.#settle(reply.id, Promise.resolve(reply.answer));
    }
  }

  #settle(id: number, outcome: Promise<Outcome>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) {
      outcome.catch(() => {}); // nobody waits for it
      return;
    }
    this.#answers += 1;
    this.#waiting.delete(id);
    this.#waitingBytes -= waiting.request.source.byteLength;
    if (this.#waiting.size === 0) this.#rest();
    waiting.settle(outcome);
  }

  #settleAll(outcomeOf: (id: number) => Promise<Outcome>): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, outcomeOf(id));
  }

  /** Before the thread was ready, no file can be the cause. */
  #onDeath(cause: unknown): void {
    this.isDead = true;
    if (this.#ready) this.#blame('crash');
    else this.#settleAll(() => Promise.reject(unavailable(cause)));
  }

  /** Only the current file is the cause, or else the next one. The other requests are unserved. */
  #blame(skipped: 'crash' | 'timeout'): void {
    const current = Atomics.load(new Int32Array(this.#underWay), 0);
    const [first] = this.#waiting.keys();
    const guilty = this.#waiting.has(current) ? current : first;
    this.#settleAll((id) => Promise.resolve(id === guilty ? { skipped } : UNSERVED));
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#worker.unref();
  }

  /** Gives up after this long without an answer, by the clock and by processor time: a busy machine is not the file's fault. */
  #watch(ms: number): void {
    const [used, answers] = [processMs(), this.#answers];
    const look = () => {
      if (answers !== this.#answers) this.#watch(ms);
      else if (processMs() - used < ms) this.#timer = setTimeout(look, LOOK_MS);
      else {
        this.#blame('timeout');
        void this.end();
      }
    };
    this.#timer = setTimeout(look, ms);
  }
}
