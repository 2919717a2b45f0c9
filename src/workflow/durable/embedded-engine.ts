import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { JournalTable, RunRow as StoredRun } from '../../store/journal-table.ts';
import type { Store } from '../../store/store.ts';
import {
  type Body,
  Cancelled,
  Detached,
  type DurableEngine,
  type EntryData,
  type JournalEntry,
  type RunEnd,
  type RunFilter,
  type RunRow,
} from './durable-engine.ts';
import { DurableScope } from './durable-scope.ts';
import { packData, unpackEntry } from './journal-codec.ts';
import { hashOf, Interrupted, LiveRun, Mismatch, toErrorData } from './live-run.ts';

export interface EmbeddedDeps {
  store: Store;
  clock: Clock;
  log: Logger;
  /** Told of every entry once it is on the disk: what views, inbox and events follow. */
  onEntry?(runId: string, entry: JournalEntry): void;
}

const PAGE = 500;
const LIST_PAGE = 50;
/** How long a cancel or close waits for effects that do not heed it. */
const LET_GO_MS = 15_000;

/** The journal in SQLite, for the one process that owns the home: the lock of the home is its claim. */
export class EmbeddedEngine implements DurableEngine {
  readonly #deps: EmbeddedDeps;
  readonly #bodies = new Map<string, { body: Body; version: number }>();
  readonly #live = new Map<string, LiveRun>();
  readonly #results = new Map<string, ((end: RunEnd) => void)[]>();
  #isClosed = false;

  constructor(deps: EmbeddedDeps) {
    this.#deps = deps;
  }

  get #journal(): JournalTable {
    return this.#deps.store.journal;
  }

  define(name: string, body: Body, { version } = { version: 1 }): void {
    this.#bodies.set(name, { body, version });
  }

  async start(name: string, runId: string, input: Json): Promise<void> {
    const { version } = this.#definition(name);
    this.#refuseClosed();
    const wanted: EntryData = { name, version, input: hashOf({ name, input }), value: input };
    const entry = this.#append(runId, ['start', ''], wanted);
    if (entry.data.input !== wanted.input) {
      throw new ReefError('run_exists', `The run ${runId} was started with another input.`, { details: { runId } });
    }
    if (!this.#find(runId, 'end', '')) this.#drive(runId);
  }

  async answer(runId: string, key: string, answerId: string, value: Json): Promise<'taken' | 'duplicate' | 'late'> {
    this.#refuseClosed();
    this.#known(runId);
    const before = this.#find(runId, 'answer', key);
    if (before) return before.data.answerId === answerId ? 'duplicate' : 'late';
    if (this.#find(runId, 'end', '')) return 'late';
    this.#append(runId, ['answer', key], { answerId, value });
    this.#live.get(runId)?.wake(key);
    return 'taken';
  }

  async cancel(runId: string, reason: string): Promise<void> {
    this.#known(runId);
    if (!this.#find(runId, 'end', '')) {
      this.#append(runId, ['end', ''], { status: 'cancelled', value: reason });
      this.#settle(runId, { status: 'cancelled', reason });
    }
    const run = this.#live.get(runId);
    run?.ending.abort(new Cancelled(reason));
    await this.#letGo(run ? [run] : []);
  }

  async recover(): Promise<string[]> {
    this.#refuseClosed();
    const ids = this.#journal.unfinished().filter((id) => !this.#live.has(id));
    const known = ids.filter((id) => this.#bodies.has(this.#known(id).data.name ?? ''));
    for (const id of ids) {
      if (known.includes(id)) this.#drive(id);
      else this.#deps.log.warn('a run has no program here and waits', { runId: id });
    }
    return known;
  }

  async *history(runId: string, after = 0): AsyncIterable<JournalEntry> {
    this.#known(runId);
    for (let at = after; ; ) {
      const page = this.#journal.after(runId, at, PAGE);
      for (const row of page) yield unpackEntry(this.#journal, row);
      at = page.at(-1)?.n ?? at;
      if (page.length < PAGE) return;
    }
  }

  async result(runId: string, { abort }: { abort?: AbortSignal } = {}): Promise<RunEnd> {
    this.#known(runId);
    const end = this.#find(runId, 'end', '');
    if (end) return endOf(end.data);
    const stuck = this.#live.has(runId) ? undefined : this.#find(runId, 'mismatch', '')?.data.error;
    if (stuck) return { status: 'stuck', code: 'journal_mismatch', message: stuck.message };
    return new Promise((resolve, reject) => {
      abort?.addEventListener('abort', () => reject(abort.reason), { once: true });
      this.#results.set(runId, [...(this.#results.get(runId) ?? []), resolve]);
    });
  }

  async list(filter: RunFilter, cursor?: string): Promise<{ runs: RunRow[]; next?: string }> {
    const runs: RunRow[] = [];
    for (let before = cursor; ; ) {
      const page = this.#journal.runs(before, LIST_PAGE);
      for (const stored of page) {
        const row = this.#toRow(stored);
        if (isWanted(row, filter)) runs.push(row);
        if (runs.length === LIST_PAGE) return { runs, next: stored.runId };
      }
      before = page.at(-1)?.runId;
      if (page.length < LIST_PAGE) return { runs };
    }
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
    const run = new LiveRun(runId, { store, clock, onEntry: (id, entry) => this.#deps.onEntry?.(id, entry) });
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

  /** The entry that stands there now, be it this one or an earlier one. */
  #append(runId: string, [kind, key]: [JournalEntry['kind'], string], data: EntryData): JournalEntry {
    const { store, clock } = this.#deps;
    const row = { at: clock.now().toISOString(), kind, key };
    const n = store.commit(() => store.journal.append(runId, { ...row, data: packData(store.journal, data) }));
    const entry = this.#find(runId, kind, key);
    if (!entry) throw new ReefError('internal', `the journal lost ${kind} ${key}`);
    if (n !== undefined) this.#deps.onEntry?.(runId, entry);
    return entry;
  }

  #find(runId: string, kind: JournalEntry['kind'], key: string): JournalEntry | undefined {
    const row = this.#journal.find(runId, kind, key);
    return row && unpackEntry(this.#journal, row);
  }

  #known(runId: string): JournalEntry {
    const start = this.#find(runId, 'start', '');
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

  #toRow({ runId, startedAt, start, endedAt, end }: StoredRun): RunRow {
    const entry = (kind: 'start' | 'end', data: string) =>
      unpackEntry(this.#journal, { n: 0, at: '', kind, key: '', data });
    const ended = end === null ? {} : { end: endOf(entry('end', end).data) };
    return {
      runId,
      name: entry('start', start).data.name ?? '',
      startedAt,
      ...(endedAt === null ? {} : { endedAt }),
      ...ended,
    };
  }
}

function isWanted(row: RunRow, { status, name }: RunFilter): boolean {
  const state = row.end === undefined ? 'open' : 'ended';
  return (status === undefined || status === state) && (name === undefined || name === row.name);
}

function endOf({ status, value = null, error }: EntryData): RunEnd {
  if (status === 'cancelled') return { status, reason: String(value) };
  if (status === 'failed') return { status, code: error?.code ?? 'internal', message: error?.message ?? '' };
  return { status: 'completed', value };
}
