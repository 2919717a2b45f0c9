import type { Clock } from '../../base/clock.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { EntryData } from './journal.ts';
import { fromErrorData, Interrupted, type LiveRun, Mismatch, toErrorData } from './live-run.ts';

/** A program whose steps are recorded. Outside steps it is deterministic: no clock, no id, no chance, no I/O. */
export type Body = (durable: Durable, input: Json) => Promise<Json>;

/** What a body is given. Places are counted: at a replay it must ask for the same, in the same order. */
export interface Durable {
  /** The first recorded result of a key is the result. After a crash before the record, `fn` is called again. */
  step<T extends Json>(key: string, input: Json, fn: StepFunction<T>, options?: StepOptions): Promise<T>;
  waitFor(key: string, question: Json, options?: WaitOptions): Promise<Json | undefined>;
  /** A time that is past returns at once, also after restarts. */
  sleepUntil(key: string, at: string): Promise<void>;
  /** Runs a defined body beside this one; `undefined` when `abort` ended it. */
  child(key: string, name: string, input: Json, options?: { abort?: AbortSignal }): Promise<Json | undefined>;
}

export type StepFunction<T extends Json> = (scope: StepScope) => Promise<T>;

export interface StepOptions {
  /** The step fails with `step_timeout` then, and what works for it is told to end. */
  timeoutMs?: number;
}

export interface WaitOptions {
  /** `undefined` is the answer when nobody answered until then. */
  until?: string;
  /** What of the question must be the same at a replay; all of it unless told. Its words are not: another version chooses others. */
  compared?(question: Json): Json;
}

export interface StepScope {
  /** The same at every attempt, so that an effect happens once. */
  effectKey: string;
  attempt: number;
  /** Fires on cancel, and with `Detached` as its reason when this process only lets go of the run. */
  abort: AbortSignal;
}

/** This process lets go of the run, and nobody asked to end it: whatever outlives the process stays. */
export class Detached extends Error {}

/** Somebody ended the run: whatever works for it ends too. */
export class Cancelled extends Error {}

/** A wall clock may jump: nobody sleeps longer than this without looking at it again. */
const LONGEST_NAP_MS = 60_000;

/** How long a step that was told to end may take to let go. */
const LET_GO_MS = 15_000;

/** A child has a scope of its own, so parallel branches count their places apart. */
export class DurableScope implements Durable {
  readonly #run: LiveRun;
  readonly #name: string;
  readonly #signal: AbortSignal;
  readonly #bodyOf: (name: string) => Body;
  #met = 0;

  constructor(run: LiveRun, options: { name: string; signal: AbortSignal; bodyOf: (name: string) => Body }) {
    this.#run = run;
    this.#name = options.name;
    this.#signal = options.signal;
    this.#bodyOf = options.bodyOf;
  }

  async step<T extends Json>(key: string, input: Json, fn: StepFunction<T>, options?: StepOptions): Promise<T> {
    const met = this.#meet(key, input);
    const known = this.#run.recall('step', met);
    if (known) return resultOf(known.data) as T;
    this.#hold();
    const data = await this.#run.track(this.#attempt(key, fn, options));
    const entry = await this.#run.record('step', key, { place: met.place, input: met.input, ...data });
    return resultOf(entry.data) as T;
  }

  async sleepUntil(key: string, at: string): Promise<void> {
    const due = timeOf(at);
    await this.step(key, { at }, async ({ abort }) => {
      while (this.#left(due) > 0) await this.#nap(this.#left(due), abort);
      return null;
    });
  }

  async waitFor(key: string, question: Json, { until, compared }: WaitOptions = {}): Promise<Json | undefined> {
    const asked = { value: question, ...(until !== undefined && { until }) };
    const met = this.#meet(key, { question, until: until ?? null });
    const data = { place: met.place, input: met.input, ...asked };
    if (!this.#run.recall('wait', asWait(met, asked, compared))) await this.#run.record('wait', key, data);
    const deadline = until === undefined ? Infinity : timeOf(until);
    for (;;) {
      const answer = this.#run.find('answer', key);
      if (answer) return answer.data.isOver === 'timeout' ? undefined : (answer.data.value ?? null);
      if (this.#left(deadline) <= 0) await this.#run.record('answer', key, { isOver: 'timeout' });
      else await this.#answerOrNap(key, deadline);
    }
  }

  async child(
    key: string,
    name: string,
    input: Json,
    options: { abort?: AbortSignal } = {},
  ): Promise<Json | undefined> {
    // No place: which branch is begun first is a matter of free slots.
    const met = { key, place: undefined, input: fingerprint({ name, input }) };
    const known = this.#run.recall('child', met);
    if (known) return known.data.isOver === 'cancelled' ? undefined : resultOf(known.data);
    const signal = options.abort ? AbortSignal.any([this.#signal, options.abort]) : this.#signal;
    const data = await this.#runChild({ key, name, input, signal });
    const entry = await this.#run.record('child', key, { input: met.input, ...data });
    return entry.data.isOver === 'cancelled' ? undefined : resultOf(entry.data);
  }

  async #runChild(child: { key: string; name: string; input: Json; signal: AbortSignal }): Promise<EntryData> {
    const scope = new DurableScope(this.#run, { name: child.key, signal: child.signal, bodyOf: this.#bodyOf });
    try {
      if (child.signal.aborted) throw new Interrupted('ended before it began');
      return { value: await this.#bodyOf(child.name)(scope, child.input) };
    } catch (error) {
      this.#hold();
      if (error instanceof Mismatch) throw error;
      if (child.signal.aborted) return { isOver: 'cancelled' };
      return { error: toErrorData(error) };
    }
  }

  async #attempt(key: string, fn: StepFunction<Json>, options?: StepOptions): Promise<EntryData> {
    const attempt = this.#run.beginAttempt(key);
    const scope = { effectKey: `${this.#run.id}/${key}`, attempt, abort: this.#signal };
    const data = await resultOfStep(fn, scope, { ...options, clock: this.#run.clock });
    this.#hold();
    return data;
  }

  #meet(key: string, input: Json): { key: string; place: string; input: string } {
    this.#met += 1;
    return { key, place: `${this.#name}:${this.#met}`, input: fingerprint(input) };
  }

  /** What was let go of has no result. */
  #hold(): void {
    if (this.#signal.aborted) throw new Interrupted('let go', { cause: this.#signal.reason });
  }

  async #answerOrNap(key: string, deadline: number): Promise<void> {
    if (deadline === Infinity) return this.#run.answered(key, this.#signal);
    const done = new AbortController();
    const either = AbortSignal.any([this.#signal, done.signal]);
    const waits = [this.#run.answered(key, either), this.#nap(this.#left(deadline), either)];
    try {
      await Promise.race(waits);
    } finally {
      done.abort(new Detached('the other came first'));
      await Promise.allSettled(waits);
    }
  }

  #left(due: number): number {
    return due - this.#run.clock.now().getTime();
  }

  async #nap(ms: number, signal: AbortSignal): Promise<void> {
    await this.#run.clock.sleep(Math.min(ms, LONGEST_NAP_MS), signal).catch((cause) => {
      throw new Interrupted('let go while asleep', { cause });
    });
  }
}

/** What a step comes to: its value or its error, or that its time was up. */
export async function resultOfStep(
  fn: StepFunction<Json>,
  scope: StepScope,
  { timeoutMs, clock }: StepOptions & { clock: Clock },
): Promise<EntryData> {
  const done = new AbortController();
  const over = new AbortController();
  const late = new ReefError('step_timeout', `${scope.effectKey} took longer than ${timeoutMs} ms`);
  const abort = timeoutMs === undefined ? scope.abort : AbortSignal.any([scope.abort, over.signal]);
  const begun = async () => fn({ ...scope, abort });
  const work = begun().then(
    (value) => ({ value }),
    (error: unknown) => ({ error: toErrorData(error) }),
  );
  if (timeoutMs === undefined) return work;
  const patience = async () => {
    await clock.sleep(timeoutMs, done.signal);
    over.abort(late);
    await clock.sleep(LET_GO_MS, done.signal);
    return { error: toErrorData(late) };
  };
  const first = await Promise.race([work, patience().catch(() => work)]);
  done.abort(late);
  return over.signal.aborted ? { error: toErrorData(late) } : first;
}

/**
 * How a wait is compared: by the question that was recorded, not by its recorded fingerprint, which is of all its words. So
 * journals from before hold, and an older program can take up ours.
 */
export function asWait<T>(met: T, asked: EntryData, compared: WaitOptions['compared'] = (question) => question) {
  const inputOf = ({ value = null, until }: EntryData) =>
    fingerprint({ question: compared(value), until: until ?? null });
  return { ...met, input: inputOf(asked), inputOf };
}

export function resultOf(data: EntryData): Json {
  if (data.error) throw fromErrorData(data.error);
  return data.value ?? null;
}

export function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new ReefError('bad_request', `"${text}" is not a time`);
  return time;
}
