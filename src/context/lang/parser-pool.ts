import { ReefError } from '../../protocol/errors.ts';
import type { ClassifyRequest, CodeParser, HitClass, Language, PackedFacts, Skipped } from './contract.ts';
import { tooLarge } from './limits.ts';
import { ParserCode } from './wasm-code.ts';
import type { Answer, ParseRequest } from './worker-messages.ts';
import { UNSERVED, WorkerThread } from './worker-thread.ts';

const DEFAULTS = {
  parseMs: 2_000,
  /** The heap of JavaScript objects in one worker. */
  heapMb: 96,
  /** A worker is replaced when it has read this much, or when its WASM memory has grown to this size. */
  maxSourceBytes: 64 * 1024 * 1024,
  maxMemoryBytes: 96 * 1024 * 1024,
  /** The WASM memory starts with 32 MiB. Replacing a smaller worker than this saves nothing and takes half a second. */
  grownBytes: 48 * 1024 * 1024,
};

/** See `workersUnder` for the number of workers. */
export type ParserPoolOptions = { workers: number } & Partial<typeof DEFAULTS>;

interface Job {
  request: ParseRequest;
  settle: (outcome: Promise<Answer>) => void;
}

/** What a worker gets in advance: as much as it parses in a tenth of a second, while this thread is busy. */
const AHEAD_BYTES = 768 * 1024;

/** Parser threads, started when needed and replaced when worn. Questions come before extractions. */
export class ParserPool implements CodeParser {
  readonly #options: { workers: number } & typeof DEFAULTS;
  readonly #questions: Job[] = [];
  readonly #extractions: Job[] = [];
  readonly #workers = new Set<WorkerThread>();
  readonly #worn = new WeakSet<WorkerThread>();
  readonly #code = new ParserCode();
  #started = 0;
  #crashed = 0;
  #isClosed = false;

  constructor(options: ParserPoolOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** The threads started so far, and those that a file has crashed. */
  get counts(): { started: number; crashed: number } {
    return { started: this.#started, crashed: this.#crashed };
  }

  prepare(): void {
    if (this.#workers.size === 0 && !this.#isClosed) this.#start();
  }

  async extract(source: Uint8Array, language: Language, signal?: AbortSignal): Promise<PackedFacts | Skipped> {
    const answer = await this.#ask(this.#extractions, { source, language, parseMs: this.#options.parseMs }, signal);
    return answer as PackedFacts | Skipped;
  }

  async classify(question: ClassifyRequest, signal?: AbortSignal): Promise<HitClass[] | Skipped> {
    if (question.hits.length === 0) return [];
    const answer = await this.#ask(this.#questions, { ...question, parseMs: this.#options.parseMs }, signal);
    return answer as HitClass[] | Skipped;
  }

  /** Ends threads after the work they were given, because WASM memory never shrinks. New ones start when needed. */
  async renew(which: 'all' | 'grown'): Promise<void> {
    for (const worker of this.#workers) {
      const isGrown = worker.wear.memoryBytes >= this.#options.grownBytes;
      if (which === 'all' || isGrown) this.#worn.add(worker);
    }
    await Promise.all([...this.#workers].map((worker) => this.#retire(worker)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#questions.splice(0), ...this.#extractions.splice(0)])
      job.settle(Promise.reject(closed()));
    await Promise.all([...this.#workers].map((worker) => worker.end()));
  }

  async #ask(queue: Job[], request: ParseRequest, signal: AbortSignal | undefined): Promise<Answer> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closed();
    const skipped = tooLarge(request.source);
    if (skipped !== undefined) return skipped;
    this.#code.engine(); // throws here, to the caller, if it does not load
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const job: Job = { request, settle: resolve };
    // A parse cannot be interrupted from here. It ends within its bound, and its answer is dropped.
    const abandon = () => {
      const at = queue.indexOf(job);
      if (at !== -1) queue.splice(at, 1);
      resolve(Promise.reject(signal?.reason));
    };
    queue.push(job);
    this.#next();
    signal?.addEventListener('abort', abandon, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abandon));
  }

  #next(): void {
    for (let worker = this.#free(); worker !== undefined; worker = this.#free()) {
      const job = this.#questions.shift() ?? this.#extractions.shift();
      if (job === undefined) return;
      void this.#run(worker, job);
    }
  }

  /** An idle worker, else a new one, else one that will soon be done. */
  #free(): WorkerThread | undefined {
    if (this.#questions.length + this.#extractions.length === 0) return undefined;
    for (const worker of this.#workers) if (worker.isGone) this.#workers.delete(worker);
    const usable = [...this.#workers].filter((worker) => !worker.isDead && !this.#isWorn(worker));
    const [least] = usable.sort((a, b) => a.load.bytes - b.load.bytes);
    const isFull = this.#workers.size >= this.#options.workers;
    if (!isFull && (least === undefined || least.load.requests > 0)) return this.#start();
    return least !== undefined && least.load.bytes < AHEAD_BYTES ? least : undefined;
  }

  #start(): WorkerThread {
    this.#started++;
    const worker = new WorkerThread(this.#options.heapMb, this.#code);
    this.#workers.add(worker);
    return worker;
  }

  async #run(worker: WorkerThread, job: Job): Promise<void> {
    const outcome = worker.run(job.request);
    const answer = await outcome.catch(() => undefined); // passed to its caller below
    if (this.#isClosed) job.settle(Promise.reject(closed()));
    else if (answer === UNSERVED) (job.request.hits ? this.#questions : this.#extractions).unshift(job);
    else job.settle(outcome as Promise<Answer>);
    if (worker.isDead && answer !== undefined && answer !== UNSERVED) this.#crashed++;
    await this.#retire(worker);
  }

  /** Ends a worn worker before its successor starts, because both would take too much memory. */
  async #retire(worker: WorkerThread): Promise<void> {
    if (!worker.isDead && this.#isWorn(worker) && worker.load.requests === 0) await worker.end();
    if (worker.isDead) this.#workers.delete(worker);
    this.#next();
  }

  #isWorn(worker: WorkerThread): boolean {
    const { sourceBytes, memoryBytes } = worker.wear;
    const { maxSourceBytes, maxMemoryBytes } = this.#options;
    return this.#worn.has(worker) || sourceBytes >= maxSourceBytes || memoryBytes >= maxMemoryBytes;
  }
}

function closed(): ReefError {
  return new ReefError('parser_unavailable', 'The parser pool is closed.');
}
