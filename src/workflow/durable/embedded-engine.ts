import { fingerprint } from '../../base/fingerprint.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { type Body, Cancelled, Detached, DurableScope } from './durable.ts';
import { type DurableEngine, endOf, type RunEnd, type RunRow } from './durable-engine.ts';
import { type EntryData, Journal, type JournalDeps, type JournalEntry } from './journal.ts';
import { Interrupted, LiveRun, Mismatch, toErrorData } from './live-run.ts';

/** How long a cancel or close waits for effects that do not heed it. */
const LET_GO_MS = 15_000;

const PAGE = 100;

/** Journals in SQLite. One process owns the home by design, and the lock of the home is its claim on the runs. */
export class EmbeddedEngine implements DurableEngine {
  readonly #deps: JournalDeps & { log: Logger };
  readonly #journal: Journal;
  readonly #bodies = new Map<string, { body: Body; version: number }>();
  readonly #live = new Map<string, LiveRun>();
  readonly #results = new Map<string, ((end: RunEnd) => void)[]>();
  #isClosed = false;

  constructor(deps: JournalDeps & { log: Logger }) {
    this.#deps = deps;
    this.#journal = new Journal(deps);
  }

  define(name: string, body: Body, { version } = { version: 1 }): void {
    this.#bodies.set(name, { body, version });
  }

  async start(name: string, runId: string, input: Json): Promise<void> {
    const { version } = this.#definition(name);
    this.#refuseClosed();
    const wanted: EntryData = { name, version, input: fingerprint({ name, input }), value: input };
    const entry = this.#journal.append(runId, { kind: 'start', key: '', data: wanted });
    if (entry.data.input !== wanted.input) {
      throw new ReefError('run_exists', `The run ${runId} was started with another input.`, { details: { runId } });
    }
    if (!this.#journal.find(runId, 'end', '')) this.#drive(runId);
  }

  async answer(runId: string, key: string, answerId: string, value: Json): Promise<'taken' | 'duplicate' | 'late'> {
    this.#refuseClosed();
    this.#known(runId);
    const before = this.#journal.find(runId, 'answer', key);
    if (before) return before.data.answerId === answerId ? 'duplicate' : 'late';
    if (this.#journal.find(runId, 'end', '')) return 'late';
    this.#journal.append(runId, { kind: 'answer', key, data: { answerId, value } });
    this.#live.get(runId)?.wake(key);
    return 'taken';
  }

  async cancel(runId: string, reason: string): Promise<void> {
    this.#known(runId);
    if (!this.#journal.find(runId, 'end', '')) {
      this.#journal.append(runId, { kind: 'end', key: '', data: { status: 'cancelled', value: reason } });
      this.#settle(runId, { status: 'cancelled', reason });
    }
    const run = this.#live.get(runId);
    run?.ending.abort(new Cancelled(reason));
    await this.#letGo(run ? [run] : []);
  }

  async recover(): Promise<string[]> {
    this.#refuseClosed();
    const ids = this.#deps.store.journal.unfinished().filter((id) => !this.#live.has(id));
    const known = ids.filter((id) => this.#bodies.has(this.#known(id).data.name ?? ''));
    for (const id of ids) {
      if (known.includes(id)) this.#drive(id);
      else this.#deps.log.warn('a run has no program here and waits', { runId: id });
    }
    return known;
  }

  async *history(runId: string, after = 0): AsyncIterable<JournalEntry> {
    this.#known(runId);
    yield* this.#journal.after(runId, after);
  }

  async result(runId: string, { abort }: { abort?: AbortSignal } = {}): Promise<RunEnd> {
    this.#known(runId);
    const end = this.#journal.find(runId, 'end', '');
    if (end) return endOf(end.data);
    const stuck = this.#live.has(runId) ? undefined : this.#journal.find(runId, 'mismatch', '')?.data.error;
    if (stuck) return { status: 'stuck', code: 'journal_mismatch', message: stuck.message };
    return new Promise((resolve, reject) => {
      const stop = () => reject(abort?.reason);
      // A signal made of others is kept alive, with all that listens to it, as long as anybody listens.
      const settle = (how: RunEnd) => {
        abort?.removeEventListener('abort', stop);
        resolve(how);
      };
      abort?.addEventListener('abort', stop, { once: true });
      this.#results.set(runId, [...(this.#results.get(runId) ?? []), settle]);
    });
  }

  async list({ status }: { status?: RunRow['status'] }, cursor = ''): Promise<{ runs: RunRow[]; next?: string }> {
    const runs = this.#deps.store.journal.runs({ after: cursor, status, limit: PAGE + 1 }) as RunRow[];
    const next = runs.length > PAGE ? runs[PAGE - 1]?.runId : undefined;
    return { runs: runs.slice(0, PAGE), ...(next !== undefined && { next }) };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const runs = [...this.#live.values()];
    for (const run of runs) run.ending.abort(new Detached('this process lets go of the run'));
    await this.#letGo(runs);
  }

  /** Waits until nothing works for these runs any more, but not for ever: an effect may be deaf. */
  async #letGo(runs: LiveRun[]): Promise<void> {
    const done = new AbortController();
    const patience = this.#deps.clock.sleep(LET_GO_MS, done.signal).catch(() => undefined);
    await Promise.race([Promise.all(runs.map((run) => run.settled())), patience]);
    done.abort();
  }

  #drive(runId: string): void {
    if (this.#live.has(runId)) return;
    const start = this.#known(runId);
    const { store, clock, log } = this.#deps;
    const run = new LiveRun(runId, { journal: this.#journal, store, clock });
    this.#live.set(runId, run);
    this.#walk(run, start.data)
      .catch((error) => log.error('a run stands still: its journal cannot be written', { runId, error }))
      .finally(() => this.#live.delete(runId));
  }

  async #walk(run: LiveRun, { name = '', value = null }: EntryData): Promise<void> {
    const bodyOf = (each: string) => this.#definition(each).body;
    const scope = new DurableScope(run, { name: '', signal: run.ending.signal, bodyOf });
    try {
      const result = await run.track(bodyOf(name)(scope, value));
      await this.#end(run, { status: 'completed', value: result });
    } catch (error) {
      if (run.ending.signal.aborted || error instanceof Interrupted) return;
      if (error instanceof Mismatch) return await this.#stop(run, error);
      await this.#end(run, { status: 'failed', error: toErrorData(error) });
      run.ending.abort(new Cancelled('the run failed')); // branches beside the one that failed
    }
  }

  async #end(run: LiveRun, data: EntryData): Promise<void> {
    const entry = await run.record('end', '', data);
    this.#settle(run.id, endOf(entry.data));
  }

  /** Nothing is executed, and nothing is ended: with the program that wrote the journal the run can go on. */
  async #stop(run: LiveRun, { message }: Mismatch): Promise<void> {
    await run.record('mismatch', '', { error: { code: 'journal_mismatch', message } });
    this.#settle(run.id, { status: 'stuck', code: 'journal_mismatch', message });
    run.ending.abort(new Detached('another program wrote this journal'));
  }

  #settle(runId: string, end: RunEnd): void {
    for (const resolve of this.#results.get(runId) ?? []) resolve(end);
    this.#results.delete(runId);
  }

  #known(runId: string): JournalEntry {
    const start = this.#journal.find(runId, 'start', '');
    if (!start) throw new ReefError('run_not_found', `There is no run ${runId}.`, { details: { runId } });
    return start;
  }

  #definition(name: string): { body: Body; version: number } {
    const definition = this.#bodies.get(name);
    if (!definition) throw new ReefError('internal', `no body is defined for "${name}"`);
    return definition;
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new ReefError('daemon_unavailable', 'the engine is closed');
  }
}
