import type { Clock } from '../../base/clock.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import type { Json } from '../../protocol/workflow.ts';
import {
  asWait,
  type Durable,
  resultOf,
  resultOfStep,
  type StepFunction,
  type StepOptions,
  timeOf,
  type WaitOptions,
} from '../../workflow/durable/durable.ts';
import type { EntryData, JournalKind } from '../../workflow/durable/journal.ts';
import { Mismatch } from '../../workflow/durable/live-run.ts';
import type { Dbos } from './dbos.ts';
import { type FleetRun, never, unlessAborted } from './fleet-run.ts';
import type { RunRecords } from './run-records.ts';

interface ScopeDeps {
  dbos: Dbos;
  records: RunRecords;
  clock: Clock;
  /** Enters what was recorded or replayed into the journal of this home, which serves the views. */
  enter(run: string, kind: JournalKind, key: string, data: EntryData): void;
  /** Large content that the result only names goes where other hosts find it. */
  keep(run: string, data: EntryData): Promise<void>;
  runChild(child: { run: FleetRun; key: string; name: string; input: Json; signal: AbortSignal }): Promise<EntryData>;
}

interface Met {
  key: string;
  place?: string;
  input?: string;
  /** Of a recorded entry, where it is not what the entry says. */
  inputOf?(data: EntryData): string;
}

/** DBOS wants an end to every wait. */
const TEN_YEARS_S = 315_360_000;
const LONGEST_NAP_MS = 60_000;

/**
 * What a body is given of its run in a fleet. DBOS numbers what a body asks for by the order of the calls and records the
 * result at that number; the name says which kind and key it was, and the recorded value carries place and input.
 */
export class FleetScope implements Durable {
  readonly #deps: ScopeDeps;
  readonly #run: FleetRun;
  readonly #walk: { id: string; name: string; signal: AbortSignal };
  #met = 0;

  constructor(deps: ScopeDeps, run: FleetRun, walk: { id: string; name: string; signal: AbortSignal }) {
    this.#deps = deps;
    this.#run = run;
    this.#walk = walk;
  }

  async step<T extends Json>(key: string, input: Json, fn: StepFunction<T>, options?: StepOptions): Promise<T> {
    const met = this.#meet('step', key, input);
    return resultOf(await this.#recorded('step', met, () => this.#attempt(key, fn, options))) as T;
  }

  async sleepUntil(key: string, at: string): Promise<void> {
    const due = timeOf(at);
    const { clock } = this.#deps;
    const left = () => due - clock.now().getTime();
    await this.step(key, { at }, async ({ abort }) => {
      while (left() > 0) await clock.sleep(Math.min(left(), LONGEST_NAP_MS), abort);
      return null;
    });
  }

  async waitFor(key: string, question: Json, { until, compared }: WaitOptions = {}): Promise<Json | undefined> {
    const asked = { value: question, ...(until !== undefined && { until }) };
    const met = this.#meet('wait', key, { question, until: until ?? null });
    await this.#recorded('wait', asWait(met, asked, compared), async () => ({ ...asked, input: met.input }));
    const { dbos, clock } = this.#deps;
    const limit = until === undefined ? TEN_YEARS_S : Math.max((timeOf(until) - clock.now().getTime()) / 1_000, 0.001);
    await this.#wakeIfAnswered(key);
    // What is sent only wakes: the answer is the row, which is there before anything is sent.
    await this.#waiting(key, until === undefined, () => dbos.api.recv(key, { timeoutSeconds: limit }));
    const answer = await this.#recorded('answer', { key }, () => this.#answer(key));
    return answer.isOver === 'timeout' ? undefined : (answer.value ?? null);
  }

  async child(
    key: string,
    name: string,
    input: Json,
    options: { abort?: AbortSignal } = {},
  ): Promise<Json | undefined> {
    // No place: which branch is begun first is a matter of free slots.
    const met = { key, input: fingerprint({ name, input: this.#run.paths.toRecord(input) }) };
    if (!this.#run.meet(this.#walk.id, `child ${key}`)) throw new Mismatch(`child ${key} is used twice`);
    const signal = options.abort ? AbortSignal.any([this.#walk.signal, options.abort]) : this.#walk.signal;
    const work = () => this.#deps.runChild({ run: this.#run, key, name, input, signal });
    const data = await this.#recorded('child', met, work);
    return data.isOver === 'cancelled' ? undefined : resultOf(data);
  }

  async #attempt(key: string, fn: StepFunction<Json>, options?: StepOptions): Promise<EntryData> {
    const { records, clock } = this.#deps;
    const { id } = this.#run;
    const abort = this.#walk.signal;
    const attempt = await records.patiently(() => records.beginAttempt(id, key), abort);
    const scope = { effectKey: `${id}/${key}`, attempt, abort };
    const data = await this.#run.track(resultOfStep(fn, scope, { ...options, clock }));
    await records.endAttempt(id, key, attempt).catch(() => undefined); // a time for people; the result is recorded by DBOS
    return data;
  }

  async #waiting<T>(key: string, isForPerson: boolean, work: () => Promise<T>): Promise<T> {
    const name = `${this.#walk.id} ${key}`;
    if (isForPerson) this.#run.beginWait(name, this.#deps.clock.monotonicMs());
    try {
      return await this.#call(work);
    } finally {
      this.#run.waits.delete(name);
    }
  }

  /** The answer may have come before this wait, or before its message was lost. Sent twice it is there once. */
  async #wakeIfAnswered(key: string): Promise<void> {
    const { records, dbos } = this.#deps;
    const known = await records.patiently(() => records.answerTo(this.#run.id, key), this.#walk.signal);
    const id = known?.answerId;
    if (id !== undefined) await dbos.outside(() => dbos.api.send(this.#walk.id, id, key, id));
  }

  /** The row that came first: of the answer, or that the time is up. */
  async #answer(key: string): Promise<EntryData> {
    const { records } = this.#deps;
    const { id } = this.#run;
    return records.patiently(async () => {
      const known = await records.answerTo(id, key);
      if (known) return known;
      await records.answer(id, key, 'timeout', { isOver: 'timeout' });
      return (await records.answerTo(id, key)) ?? { isOver: 'timeout' };
    }, this.#walk.signal);
  }

  async #recorded(
    kind: JournalKind,
    { key, inputOf, ...met }: Met,
    work: () => Promise<EntryData>,
  ): Promise<EntryData> {
    const { dbos, enter, records } = this.#deps;
    const { id, paths } = this.#run;
    const attempt = async (): Promise<EntryData> => {
      const data = await work().catch((error: unknown) => {
        if (this.#walk.signal.aborted) return never();
        throw error;
      });
      await records.patiently(() => this.#deps.keep(id, data), this.#walk.signal).catch(() => undefined);
      // What was let go of has no result, and an error here would be recorded as one.
      return this.#walk.signal.aborted ? never() : { ...met, ...paths.toRecord(data) };
    };
    const data = paths.fromRecord(await this.#call(() => dbos.api.runStep(attempt, { name: `${kind} ${key}` })));
    if ((inputOf?.(data) ?? data.input) !== met.input)
      throw new Mismatch(`${kind} ${key} was recorded for another input`);
    if (data.place !== met.place)
      throw new Mismatch(`${kind} ${key} was recorded at ${data.place}, not at ${met.place}`);
    enter(id, kind, key, data);
    return data;
  }

  async #call<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await unlessAborted(work(), this.#walk.signal);
    } catch (error) {
      if (!(error instanceof this.#deps.dbos.errors.DBOSUnexpectedStepError)) throw error;
      throw new Mismatch('the journal has another entry where the program is', { cause: error });
    }
  }

  #meet(kind: JournalKind, key: string, input: Json): Required<Pick<Met, 'key' | 'place' | 'input'>> {
    this.#met += 1;
    if (!this.#run.meet(this.#walk.id, `${kind} ${key}`)) throw new Mismatch(`${kind} ${key} is used twice`);
    return { key, place: `${this.#walk.name}:${this.#met}`, input: fingerprint(this.#run.paths.toRecord(input)) };
  }
}
