import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { type Body, Detached, type Durable, type EntryData, type StepScope } from './durable-engine.ts';
import { fromErrorData, hashOf, Interrupted, type LiveRun, Mismatch, toErrorData } from './live-run.ts';

/** A wall clock may jump: nobody sleeps longer than this without looking at it again. */
const LONGEST_NAP_MS = 60_000;

/** What a body sees of its run. A child has one of its own, so that the places of parallel branches are their own. */
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

  async step<T extends Json>(
    key: string,
    input: Json,
    fn: (scope: StepScope) => Promise<T>,
    options: { timeoutMs?: number } = {},
  ): Promise<T> {
    const met = this.#meet(key, input);
    const known = this.#run.recall('step', met);
    if (known) return resultOf(known.data) as T;
    this.#hold();
    const data = await this.#run.track(this.#attempt(key, fn, options));
    const entry = await this.#run.record('step', key, { place: met.place, input: met.input, ...data });
    return resultOf(entry.data) as T;
  }

  async waitFor(key: string, question: Json, until?: string): Promise<Json | undefined> {
    const met = this.#meet(key, { question, until: until ?? null });
    const data = { place: met.place, input: met.input, value: question, ...(until === undefined ? {} : { until }) };
    if (!this.#run.recall('wait', met)) await this.#record('wait', key, data);
    const deadline = until === undefined ? undefined : timeOf(until);
    for (;;) {
      const answer = this.#run.find('answer', key);
      if (answer) return answer.data.isOver === 'timeout' ? undefined : (answer.data.value ?? null);
      if (deadline !== undefined && this.#run.clock.now().getTime() >= deadline) {
        await this.#record('answer', key, { isOver: 'timeout' });
      } else await this.#answerOr(key, deadline);
    }
  }

  async sleepUntil(key: string, at: string): Promise<void> {
    const met = this.#meet(key, at);
    const due = timeOf(at);
    if (!this.#run.recall('sleep', met)) await this.#record('sleep', key, { place: met.place, input: met.input });
    for (let left = this.#left(due); left > 0; left = this.#left(due)) await this.#nap(left, this.#signal);
  }

  async child(
    key: string,
    name: string,
    input: Json,
    options: { abort?: AbortSignal } = {},
  ): Promise<Json | undefined> {
    // No place: which branch is begun first is a matter of free slots.
    const met = { key, place: undefined, input: hashOf({ name, input }) };
    const known = this.#run.recall('child', met);
    if (known) return known.data.isOver === 'cancelled' ? undefined : resultOf(known.data);
    const signal = options.abort ? AbortSignal.any([this.#signal, options.abort]) : this.#signal;
    const data = await this.#runChild({ key, name, input, signal });
    const entry = await this.#record('child', key, { input: met.input, ...data });
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

  async #attempt(
    key: string,
    fn: (scope: StepScope) => Promise<Json>,
    { timeoutMs }: { timeoutMs?: number },
  ): Promise<EntryData> {
    const attempt = this.#run.beginAttempt(key);
    const timeout = new AbortController();
    const done = new AbortController();
    const abort = AbortSignal.any([this.#signal, timeout.signal]);
    if (timeoutMs !== undefined) {
      this.#run.clock.sleep(timeoutMs, done.signal).then(
        () => timeout.abort(new ReefError('ceiling', `${key} took longer than ${timeoutMs} ms`)),
        () => undefined,
      );
    }
    try {
      const value = await fn({ effectKey: `${this.#run.id}/${key}`, attempt, abort });
      this.#hold();
      return { value };
    } catch (error) {
      this.#hold();
      return { error: toErrorData(error) };
    } finally {
      done.abort();
    }
  }

  #meet(key: string, input: Json): { key: string; place: string; input: string } {
    this.#met += 1;
    return { key, place: `${this.#name}:${this.#met}`, input: hashOf(input) };
  }

  /** What was let go of has no result. */
  #hold(): void {
    if (this.#signal.aborted) throw new Interrupted('let go', { cause: this.#signal.reason });
  }

  #record(...entry: Parameters<LiveRun['record']>): ReturnType<LiveRun['record']> {
    return this.#run.record(...entry);
  }

  async #answerOr(key: string, deadline: number | undefined): Promise<void> {
    if (deadline === undefined) return this.#run.answered(key, this.#signal);
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

function resultOf(data: EntryData): Json {
  if (data.error) throw fromErrorData(data.error);
  return data.value ?? null;
}

function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new ReefError('bad_request', `"${text}" is no time`);
  return time;
}
