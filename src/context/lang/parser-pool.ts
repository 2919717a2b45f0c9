import { ReefError } from '../../protocol/errors.ts';
import type { ClassifyRequest, CodeParser, HitClass, Language, PackedFacts, Skipped } from './contract.ts';
import { compileEngine, type EngineCode } from './engine-code.ts';
import { tooLarge } from './limits.ts';
import type { Answer, WorkerRequest } from './worker-messages.ts';
import { unavailable, WorkerThread } from './worker-thread.ts';

export interface ParserPoolOptions {
  /** See `workersUnder`. */
  workers: number;
  parseMs?: number;
  /** Of JavaScript objects in one worker. */
  heapMb?: number;
  /** A worker that has read this much, or whose WASM memory has grown to that much, is replaced. */
  maxSourceBytes?: number;
  maxMemoryBytes?: number;
}

interface Job {
  request: WorkerRequest;
  settle: (outcome: Promise<Answer>) => void;
}

const MIB = 1024 * 1024;

/** Parser threads, started when first needed and replaced when worn. Questions go ahead of extraction. */
export class ParserPool implements CodeParser {
  readonly #options: Required<ParserPoolOptions>;
  readonly #questions: Job[] = [];
  readonly #extractions: Job[] = [];
  readonly #idle: WorkerThread[] = [];
  readonly #busy = new Set<WorkerThread>();
  readonly #worn = new WeakSet<WorkerThread>();
  #code: EngineCode | undefined;
  #started = 0;
  #crashed = 0;
  #isClosed = false;

  constructor(options: ParserPoolOptions) {
    this.#options = { parseMs: 2_000, heapMb: 96, maxSourceBytes: 64 * MIB, maxMemoryBytes: 96 * MIB, ...options };
  }

  /** Threads started so far, and those lost to a file. */
  get counts(): { started: number; crashed: number } {
    return { started: this.#started, crashed: this.#crashed };
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

  /** Threads are replaced, each after the file it reads: their WASM memory never shrinks. */
  async renew(): Promise<void> {
    for (const worker of this.#busy) this.#worn.add(worker);
    await Promise.all(this.#idle.splice(0).map((worker) => worker.end()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of [...this.#questions.splice(0), ...this.#extractions.splice(0)])
      job.settle(Promise.reject(closed()));
    await Promise.all([...this.#idle.splice(0), ...this.#busy].map((worker) => worker.end()));
  }

  async #ask(queue: Job[], request: WorkerRequest, signal: AbortSignal | undefined): Promise<Answer> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw closed();
    const skipped = tooLarge(request.source);
    if (skipped !== undefined) return skipped;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const job: Job = { request, settle: resolve };
    // A parse cannot be interrupted from here and ends by itself within its bound; only its answer is dropped.
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
    while (this.#busy.size < this.#options.workers) {
      const job = this.#questions.shift() ?? this.#extractions.shift();
      if (job === undefined) return;
      void this.#run(this.#takeWorker(), job);
    }
  }

  #takeWorker(): WorkerThread {
    const worker = this.#idle.pop();
    if (worker !== undefined && !worker.isDead) return worker;
    this.#started++;
    this.#code ??= loadEngine();
    return new WorkerThread(this.#options.heapMb, this.#code);
  }

  async #run(worker: WorkerThread, job: Job): Promise<void> {
    this.#busy.add(worker);
    const outcome = worker.run(job.request);
    const answer = await outcome.catch(() => undefined); // its owner hears of it below
    if (worker.isDead && answer !== undefined && !this.#isClosed) this.#crashed++;
    job.settle(this.#isClosed ? Promise.reject(closed()) : outcome);
    await this.#putBack(worker);
    this.#next();
  }

  /** Worn workers go first and are replaced after: two at once would be a worker too many in memory. */
  async #putBack(worker: WorkerThread): Promise<void> {
    if (this.#isWorn(worker) && !worker.isDead) await worker.end();
    this.#busy.delete(worker);
    if (!worker.isDead && !this.#isClosed) this.#idle.push(worker);
  }

  #isWorn(worker: WorkerThread): boolean {
    const { sourceBytes, memoryBytes } = worker.wear;
    const { maxSourceBytes, maxMemoryBytes } = this.#options;
    return this.#worn.has(worker) || sourceBytes >= maxSourceBytes || memoryBytes >= maxMemoryBytes;
  }
}

function loadEngine(): EngineCode {
  try {
    return compileEngine();
  } catch (error) {
    throw unavailable(error);
  }
}

function closed(): ReefError {
  return new ReefError('parser_unavailable', 'The parser pool is closed.');
}
