import { systemClock } from '../../../base/clock.ts';
import { settledWithin } from '../../../base/wait.ts';
import type { CodeParser, HitClass } from '../../lang/contract.ts';
import { Scratch } from '../tree/read-file.ts';
import type { Classes, KeptClasses, Question } from './kept-classes.ts';

type HitParser = Pick<CodeParser, 'classify'>;

const MOST_KEPT = { files: 4_000, hits: 500_000 };
/** In one transaction. */
const MOST_WRITTEN = 200;
/** Work continues in the background for so long after the time is up, so that the next caller gets more. */
const BACKGROUND_MS = 10_000;

interface Waits {
  ms: number;
  /** How long the first answer may take besides: the parser starts in tenths of a second, on a busy machine in seconds. */
  lateMs?: number;
  signal?: AbortSignal | undefined;
}

interface Batch {
  /** Not begun. */
  rest: Question[];
  unanswered: number;
  isOver: () => boolean;
  settle: () => void;
  /** The parser has answered for the first time. */
  hear: () => void;
  /** The caller still waits for it. */
  isAwaited: boolean;
}

/** Tells calls from comments. Answers are kept by content and name, so a file is parsed once for a name. */
export class Classifier {
  readonly #parser: () => Promise<HitParser>;
  readonly #parallel: number;
  readonly #kept = new Map<string, Classes>();
  readonly #stored: KeptClasses | undefined;
  /** In memory only. */
  #unsaved: { question: Question; classes: Classes }[] = [];
  /** The dozen different classes, shared: an answer of a thread has an object for every hit. */
  readonly #shapes = new Map<string, HitClass>();
  #hits = 0;
  /** The latest first: somebody still waits for it. */
  #batches: Batch[] = [];
  #working = 0;

  constructor(parser: () => Promise<HitParser>, parallel: number, stored?: KeptClasses) {
    this.#parser = parser;
    this.#parallel = parallel;
    this.#stored = stored;
  }

  known(question: Pick<Question, 'oid' | 'language' | 'name'>): Classes | undefined {
    return this.#kept.get(keyOf(question));
  }

  /** Frees memory: drops what is kept and begins nothing more. Callers that wait get an incomplete answer. */
  forget(): void {
    this.#kept.clear();
    this.#hits = 0;
    for (const batch of this.#batches.splice(0)) batch.settle();
  }

  /** Drops the work nobody waits for. Returns whether any is left. */
  rest(): boolean {
    this.#batches = this.#batches.filter(({ isAwaited }) => isAwaited);
    return this.#batches.length > 0;
  }

  async classify(questions: readonly Question[], { ms, lateMs = 0, signal }: Waits): Promise<void> {
    const rest = questions.filter((question) => !this.#isKnown(question));
    if (rest.length === 0) return;
    const { promise: allKnown, resolve: settle } = Promise.withResolvers<void>();
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    const end = performance.now() + ms + lateMs + BACKGROUND_MS;
    const isOver = () => performance.now() > end || signal?.aborted === true;
    const batch = { rest, unanswered: rest.length, isOver, settle, hear, isAwaited: true };
    this.#batches.unshift(batch);
    for (let idle = this.#parallel - this.#working; idle > 0; idle--) void this.#work();
    await settledWithin(systemClock, lateMs, Promise.race([heard, allKnown]));
    await settledWithin(systemClock, ms, allKnown);
    batch.isAwaited = false;
    this.#save();
  }

  /** One of a few workers for all callers. Each holds one file in memory. */
  async #work(): Promise<void> {
    this.#working += 1;
    const scratch = new Scratch();
    for (let batch = this.#next(); batch; batch = this.#next()) {
      await this.#ask(batch.rest.shift() as Question, scratch);
      batch.unanswered -= 1;
      batch.hear();
      if (batch.unanswered === 0) batch.settle();
    }
    this.#working -= 1;
    this.#save();
  }

  #next(): Batch | undefined {
    for (const batch of this.#batches) if (batch.isOver()) batch.settle();
    this.#batches = this.#batches.filter((batch) => batch.rest.length > 0 && !batch.isOver());
    return this.#batches[0];
  }

  /** If the parser is closed, the hits stay unclassified and the answer incomplete. */
  async #ask(question: Question, { room }: Scratch): Promise<void> {
    const source = question.source(room);
    if (!source || this.known(question)) return;
    const { language, hits } = question;
    const asked = { source, language, hits: [...hits].map(({ line, column }) => ({ line, column })) };
    const classes = await this.#parser()
      .then((parser) => parser.classify(asked))
      .catch(() => undefined);
    if (!classes) return;
    const found = 'skipped' in classes ? 'skipped' : classes.map((each) => this.#shared(each));
    this.#keep(question, found);
    if (this.#stored) this.#unsaved.push({ question, classes: found });
  }

  #isKnown(question: Question): boolean {
    if (this.known(question) !== undefined) return true;
    const classes = this.#stored?.load(question);
    if (classes === undefined) return false;
    this.#keep(question, classes === 'skipped' ? classes : classes.map((each) => this.#shared(each)));
    return true;
  }

  #save(): void {
    while (this.#unsaved.length > 0) this.#stored?.save(this.#unsaved.splice(0, MOST_WRITTEN));
  }

  #keep(question: Question, classes: Classes): void {
    this.#drop(keyOf(question));
    this.#kept.set(keyOf(question), classes);
    this.#hits += hitsIn(classes);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= MOST_KEPT.files && this.#hits <= MOST_KEPT.hits) break;
      this.#drop(oldest);
    }
  }

  #shared(found: HitClass): HitClass {
    const shape = `${found.kind} ${found.scope} ${found.isMember}`;
    const known = this.#shapes.get(shape) ?? found;
    this.#shapes.set(shape, known);
    return known;
  }

  #drop(key: string): void {
    this.#hits -= hitsIn(this.#kept.get(key));
    this.#kept.delete(key);
  }
}

function hitsIn(classes: Classes | undefined): number {
  return Array.isArray(classes) ? classes.length : 0;
}

function keyOf({ oid, language, name }: Pick<Question, 'oid' | 'language' | 'name'>): string {
  return `${oid} ${language} ${name}`;
}
