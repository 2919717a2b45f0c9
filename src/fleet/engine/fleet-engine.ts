import type { Clock } from '../../base/clock.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { Store } from '../../store/store.ts';
import { type Body, Cancelled, Detached } from '../../workflow/durable/durable.ts';
import { type DurableEngine, endOf, type RunEnd, type RunRow } from '../../workflow/durable/durable-engine.ts';
import { type EntryData, Journal, type JournalEntry, type JournalKind } from '../../workflow/durable/journal.ts';
import { Interrupted, Mismatch, toErrorData } from '../../workflow/durable/live-run.ts';
import type { Database } from '../database/database.ts';
import type { Dbos, Order } from './dbos.ts';
import { FleetRun, never, unlessAborted } from './fleet-run.ts';
import { FleetScope } from './fleet-scope.ts';
import { HostPaths } from './host-paths.ts';
import {
  bringBlobs,
  isInFork,
  keepBlobs,
  lastCheckpoint,
  type Moving,
  namesOf,
  type Recorded,
} from './moved-records.ts';
import { type HostIdentity, RunRecords } from './run-records.ts';

interface EngineDeps {
  /** The home of this repository on this host: its journal serves the views. */
  store: Store;
  clock: Clock;
  log: Logger;
  database: Database;
  dbos(): Dbos;
  repository: string;
  self(): HostIdentity;
  /** Without it a run stays on its host. */
  moving?: Moving;
  onEntry?(runId: string, entry: JournalEntry): void;
}

/** How long a cancel or close waits for effects that do not heed it. */
const LET_GO_MS = 15_000;
const LOOK_MS = 1_000;
const SETTLED = ['SUCCESS', 'ERROR'];

/**
 * The runs of one repository on this host, recorded by DBOS in Postgres. What is recorded or replayed is entered into the
 * journal of this home too, so that everything above the engine reads what it reads with the embedded one.
 */
export class FleetEngine implements DurableEngine {
  readonly #deps: EngineDeps;
  readonly #journal: Journal;
  readonly #records: RunRecords;
  readonly #bodies = new Map<string, { body: Body; version: number }>();
  readonly #live = new Map<string, FleetRun>();
  readonly #stuck = new Map<string, string>();
  readonly #starting = new Set<string>();
  readonly #ears = new Set<() => void>();
  #isClosed = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#journal = new Journal(deps);
    this.#records = new RunRecords({ ...deps, branchOf: (run) => deps.moving?.branchOf(run) });
  }

  define(name: string, body: Body, { version } = { version: 1 }): void {
    this.#bodies.set(name, { body, version });
  }

  async start(name: string, runId: string, input: Json): Promise<void> {
    const { version } = this.#definition(name);
    this.#refuseClosed();
    this.#starting.add(runId);
    try {
      await this.#begin(runId, { name, version, input });
    } finally {
      this.#starting.delete(runId);
    }
  }

  async #begin(runId: string, { name, version, input }: Pick<Order, 'name' | 'version' | 'input'>): Promise<void> {
    const { outside, api, walk } = this.#deps.dbos();
    await this.#records.begin(runId);
    const known = await this.#orderOf(runId);
    const paths = known ? await this.#pathsOf(runId, known) : this.#ownPaths();
    const order: Order = { repository: this.#deps.repository, name, version, input: paths.toRecord(input) };
    if (await this.#endHere(runId)) return this.#refuseOther(runId, order);
    await this.#deps.moving?.begin(runId);
    if (known && !this.#live.has(runId)) {
      await this.#refuseOther(runId, order);
      return void (await this.resume(runId));
    }
    await outside(() => api.startWorkflow(walk, { workflowID: runId })(order));
    await this.#refuseOther(runId, order);
    this.#enter(runId, 'start', '', entryOf(order, paths));
  }

  async answer(runId: string, key: string, answerId: string, value: Json): Promise<'taken' | 'duplicate' | 'late'> {
    this.#refuseClosed();
    const said = await this.#records.answer(runId, key, answerId, { value });
    if (said === 'late') return said;
    if (said === 'taken') this.#enter(runId, 'answer', key, { answerId, value });
    await this.#send(runId, key, answerId);
    return said;
  }

  async cancel(runId: string, reason: string): Promise<void> {
    if (!(await this.#records.status(runId))) throw notFound(runId);
    const outcome = await this.#records.close(runId, { status: 'cancelled', value: reason });
    await this.#end(runId, outcome);
    const { outside, api } = this.#deps.dbos();
    await outside(() => api.cancelWorkflow(runId)).catch(() => undefined); // it may not have begun
    await this.#cancelChildren(runId);
    await this.release(runId, new Cancelled(reason));
  }

  /** Only for runs that are this host's: whoever claims one has its row. */
  async recover(): Promise<string[]> {
    this.#refuseClosed();
    const taken: string[] = [];
    for (const id of await this.#records.mine((run) => this.#deps.moving?.worktreeOf(run))) {
      if (this.#live.has(id) || this.#stuck.has(id) || this.#starting.has(id)) continue;
      // A worker was killed after its row was written and before DBOS had it: it begins.
      if (!(await this.#orderOf(id))) await this.#records.forget(id);
      else if (await this.resume(id)) taken.push(id);
    }
    return taken;
  }

  /** Goes on with a run of this host, wherever it was walked before. */
  async resume(runId: string): Promise<boolean> {
    const { order, paths } = await this.#fill(runId);
    if (!this.#bodies.has(order.name)) {
      this.#deps.log.warn('a run has no program here and waits', { runId });
      return false;
    }
    this.#stuck.delete(runId);
    this.#live.set(runId, new FleetRun(runId, paths));
    await this.#deps.dbos().resume(runId);
    return true;
  }

  /** Stops walking and ends nothing. `Cancelled` ends what works for it; `Detached` leaves that alone. */
  async release(runId: string, why: Cancelled | Detached): Promise<void> {
    const run = this.#live.get(runId);
    if (!run) return;
    this.#live.delete(runId);
    run.ending.abort(why);
    await this.#letGo([run]);
  }

  /** Ends here what was cancelled elsewhere. */
  async heedCancels(): Promise<void> {
    for (const { id, reason } of await this.#records.cancelled(this.live)) await this.cancel(id, reason);
  }

  /** Its row says that it is parked: it is not ended, and whoever claims it goes on at its wait. */
  async park(runId: string): Promise<void> {
    const { outside, api } = this.#deps.dbos();
    if (!(await this.#records.park(runId))) return;
    await this.release(runId, new Detached('the run waits for a person'));
    await outside(() => api.cancelWorkflow(runId));
    await this.#cancelChildren(runId);
  }

  idleSince(ms: number): string[] {
    return [...this.#live.values()].filter((run) => run.isIdleSince(ms)).map(({ id }) => id);
  }

  /** It was walked here, and its program is another one than the one that wrote its journal. */
  isStuck(runId: string): boolean {
    return this.#stuck.has(runId);
  }

  get live(): string[] {
    return [...this.#live.keys()];
  }

  async *history(runId: string, after = 0): AsyncIterable<JournalEntry> {
    if (!this.#journal.find(runId, 'start', '')) await this.#fill(runId);
    yield* this.#journal.after(runId, after);
  }

  async result(runId: string, { abort }: { abort?: AbortSignal } = {}): Promise<RunEnd> {
    if (!(await this.#records.status(runId))) throw notFound(runId);
    for (;;) {
      const known = this.#journal.find(runId, 'end', '');
      const end = known ? endOf(known.data) : await this.#endHere(runId).catch(() => undefined);
      if (end) return end;
      const message = this.#stuck.get(runId);
      if (message !== undefined) return { status: 'stuck', code: 'journal_mismatch', message };
      await this.#nextLook(abort);
    }
  }

  #endHere(runId: string): Promise<RunEnd | undefined> {
    return this.#records.end(runId, this.#deps.moving?.worktreeOf(runId));
  }

  list({ status }: { status?: RunRow['status'] }, cursor = '') {
    return this.#records.list(status, cursor);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const runs = [...this.#live.values()];
    for (const run of runs) run.ending.abort(new Detached('this process lets go of the run'));
    await this.#letGo(runs);
  }

  /** Called by DBOS for a run or a child of one. What it returns or throws is recorded, so what was let go of does neither. */
  async walk(id: string, order: Order): Promise<EntryData> {
    const root = order.of?.run ?? id;
    const run = this.#live.get(root) ?? new FleetRun(root, this.#ownPaths());
    this.#live.set(root, run);
    run.walks.add(id);
    const child = run.children.get(id);
    const signal = child ? AbortSignal.any([run.ending.signal, child]) : run.ending.signal;
    if (!order.of) this.#enter(id, 'start', '', entryOf(order, run.paths));
    const scope = new FleetScope(this.#scopeDeps(), run, { id, name: order.of?.key ?? '', signal });
    try {
      const body = this.#definition(order.name).body(scope, run.paths.fromRecord(order.input));
      const outcome: EntryData = { status: 'completed', value: await unlessAborted(body, signal) };
      return order.of ? run.paths.toRecord(outcome) : await this.#finish(run, outcome);
    } catch (error) {
      return this.#failed(run, order, error);
    } finally {
      run.walks.delete(id);
    }
  }

  async #failed(run: FleetRun, order: Order, error: unknown): Promise<EntryData> {
    const { DBOSWorkflowCancelledError, DBOSWorkflowConflictError } = this.#deps.dbos().errors;
    if (run.ending.signal.aborted || error instanceof Interrupted) return never();
    if (error instanceof DBOSWorkflowCancelledError || error instanceof DBOSWorkflowConflictError) {
      // Another process owns it now, or somebody ended it: what works for it here must end.
      this.#live.delete(run.id);
      run.ending.abort(new Cancelled('the run is no longer walked here'));
      throw error;
    }
    if (error instanceof Mismatch) return this.#stop(run, error);
    const outcome: EntryData = { status: 'failed', error: toErrorData(error) };
    if (order.of) return outcome;
    const recorded = await this.#finish(run, outcome);
    run.ending.abort(new Cancelled('the run failed')); // branches beside the one that failed
    await this.#cancelChildren(run.id).catch(() => undefined);
    return recorded;
  }

  async #finish(run: FleetRun, outcome: EntryData): Promise<EntryData> {
    const { signal } = run.ending;
    const recorded = await this.#records
      .patiently(() => this.#records.close(run.id, outcome), signal)
      .catch((error: unknown) => {
        const { code, message } = toErrorData(error);
        this.#deps.log.warn('the end of a run is not recorded here', { runId: run.id, code, reason: message });
        return never();
      });
    await this.#end(run.id, recorded);
    this.#live.delete(run.id);
    return recorded;
  }

  /** Nothing is executed, and nothing is ended: with the program that wrote the journal the run can go on. */
  #stop(run: FleetRun, { message }: Mismatch): Promise<EntryData> {
    this.#enter(run.id, 'mismatch', '', { error: { code: 'journal_mismatch', message } });
    this.#stuck.set(run.id, message);
    this.#live.delete(run.id);
    run.ending.abort(new Detached('another program wrote this journal'));
    this.#wake();
    return never();
  }

  #scopeDeps() {
    const { clock } = this.#deps;
    return {
      dbos: this.#deps.dbos(),
      records: this.#records,
      clock,
      enter: (run: string, kind: JournalKind, key: string, data: EntryData) => this.#enter(run, kind, key, data),
      keep: (run: string, data: EntryData) =>
        this.#deps.moving ? keepBlobs(this.#deps.database, this.#deps.moving, { runId: run, data }) : Promise.resolve(),
      runChild: (child: Parameters<FleetEngine['runChild']>[0]) => this.runChild(child),
    };
  }

  /** A branch is a workflow of its own, since its steps overlap with others'. It is walked where its run is. */
  async runChild(child: {
    run: FleetRun;
    key: string;
    name: string;
    input: Json;
    signal: AbortSignal;
  }): Promise<EntryData> {
    const { run, key, name, input, signal } = child;
    if (signal.aborted) return { isOver: 'cancelled' };
    const { outside, api, walk, resume } = this.#deps.dbos();
    const id = `${run.id}/${key}`;
    const { version } = this.#definition(name);
    const recorded = run.paths.toRecord(input);
    const order: Order = {
      repository: this.#deps.repository,
      name,
      version,
      input: recorded,
      of: { run: run.id, key },
    };
    run.children.set(id, signal);
    const handle = await outside(() => api.startWorkflow(walk, { workflowID: id })(order));
    const status = await outside(() => handle.getStatus());
    // Begun by a former owner of its run, or stopped with it.
    const isLeft = !run.walks.has(id) && !SETTLED.includes(status?.status ?? '');
    if (isLeft) await resume(id);
    try {
      const end = await unlessAborted(
        outside(() => handle.getResult({ pollingIntervalMs: 200 })),
        signal,
      );
      return run.paths.fromRecord(end?.error ? { error: end.error } : { value: end?.value ?? null });
    } catch (error) {
      if (!(error instanceof Interrupted) || run.ending.signal.aborted) throw error;
      await outside(() => api.cancelWorkflow(id));
      return { isOver: 'cancelled' };
    }
  }

  async #cancelChildren(runId: string): Promise<void> {
    const { outside, api } = this.#deps.dbos();
    const status = ['PENDING', 'ENQUEUED'] as const;
    const children = await outside(() =>
      api.listWorkflows({ workflow_id_prefix: `${runId}/`, status: [...status], loadInput: false, loadOutput: false }),
    );
    const ids = children.map(({ workflowID }) => workflowID);
    if (ids.length > 0) await outside(() => api.cancelWorkflows(ids));
  }

  /** Wakes whoever waits: the run, or the branch of it that does. A wait that begins later finds the row itself. */
  async #send(runId: string, key: string, answerId: string): Promise<void> {
    await this.#wakeWalk(runId, key, answerId); // first, since most waits are its own
    for (const id of await this.#childrenOf(runId)) await this.#wakeWalk(id, key, answerId);
    await this.#records.delivered(runId, key);
  }

  async #wakeWalk(id: string, key: string, answerId: string): Promise<void> {
    const { outside, api } = this.#deps.dbos();
    const isThere = (await outside(() => api.getWorkflowStatus(id))) !== null; // a queued run has no workflow yet
    if (isThere) await outside(() => api.send(id, answerId, key, answerId));
  }

  async #childrenOf(runId: string): Promise<string[]> {
    const { outside, api } = this.#deps.dbos();
    const found = await outside(() =>
      api.listWorkflows({ workflow_id_prefix: `${runId}/`, loadInput: false, loadOutput: false }),
    );
    return found.map(({ workflowID }) => workflowID);
  }

  /** What Postgres knows of a run, entered into the journal of this home. */
  async #fill(runId: string): Promise<{ order: Order; paths: HostPaths }> {
    const order = await this.#orderOf(runId);
    if (!order) throw notFound(runId);
    const entries = await this.#recordedOf(runId);
    const paths = await this.#pathsOf(runId, order, entries);
    this.#enter(runId, 'start', '', entryOf(order, paths));
    if (this.#deps.moving) await bringBlobs(this.#deps.database, this.#deps.moving, { runId, entries });
    for (const { kind, key, data } of entries) this.#enter(runId, kind, key, paths.fromRecord(data));
    for (const { key, data } of await this.#records.answers(runId)) this.#enter(runId, 'answer', key, data);
    const row = await this.#records.status(runId);
    if (row?.outcome) this.#enter(runId, 'end', '', row.outcome);
    return { order, paths };
  }

  async #orderOf(runId: string): Promise<Order | undefined> {
    const { outside, api } = this.#deps.dbos();
    return (await outside(() => api.getWorkflowStatus(runId)))?.input?.[0] as Order | undefined;
  }

  /** What its walks have recorded, oldest first. */
  async #recordedOf(runId: string): Promise<Recorded[]> {
    const { outside, api } = this.#deps.dbos();
    const walks = [runId, ...(await this.#childrenOf(runId))];
    const steps = await Promise.all(walks.map((id) => outside(() => api.listWorkflowSteps(id))));
    const byTime = steps
      .flatMap((each) => each ?? [])
      .sort((a, b) => (a.completedAtEpochMs ?? 0) - (b.completedAtEpochMs ?? 0));
    return byTime.flatMap(({ name, output }) => {
      const [, kind, key = ''] = /^(step|wait|answer|child) (.*)$/s.exec(name) ?? [];
      return kind !== undefined && output ? [{ kind: kind as JournalKind, key, data: output as EntryData }] : [];
    });
  }

  /** The last commit that the main branch left. In a fork the work is in several places. */
  async leftAt(runId: string): Promise<{ checkpoint: string | undefined; isInFork: boolean }> {
    const [entries, children] = [await this.#recordedOf(runId), await this.#childrenOf(runId)];
    const branches = children.map((id) => id.slice(runId.length + 1));
    return { checkpoint: lastCheckpoint(entries), isInFork: isInFork(entries, branches) };
  }

  #ownPaths(): HostPaths {
    return new HostPaths(this.#deps.moving?.folder());
  }

  async #pathsOf(runId: string, { input }: Order, entries?: Recorded[]): Promise<HostPaths> {
    const { moving } = this.#deps;
    if (!moving) return this.#ownPaths();
    return new HostPaths(
      moving.folder(),
      namesOf(moving, { runId, input, entries: entries ?? (await this.#recordedOf(runId)) }),
    );
  }

  async #refuseOther(runId: string, order: Order): Promise<void> {
    const known = await this.#orderOf(runId);
    if (!known || fingerprintOf(known) === fingerprintOf(order)) return;
    throw new ReefError('run_exists', `The run ${runId} was started with another input.`, { details: { runId } });
  }

  /** Idempotent by kind and key: what is replayed is there already, and on another host it fills the journal. */
  #enter(runId: string, kind: JournalKind, key: string, data: EntryData): void {
    try {
      this.#journal.append(runId, { kind, key, data });
    } catch (error) {
      if (!(error instanceof ReefError && error.retryable)) throw error;
      // It is recorded in Postgres; the journal of this home has it again when the run is next taken up.
      this.#deps.log.warn('the journal of this home lacks an entry', { runId, kind, key, error });
    }
  }

  async #end(runId: string, outcome: EntryData): Promise<void> {
    if (!this.#journal.find(runId, 'start', '')) await this.#fill(runId).catch(() => undefined);
    this.#enter(runId, 'end', '', outcome);
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#ears]) wake();
  }

  async #nextLook(abort?: AbortSignal): Promise<void> {
    const done = new AbortController();
    const wake = () => done.abort();
    this.#ears.add(wake);
    const either = abort ? AbortSignal.any([abort, done.signal]) : done.signal;
    await this.#deps.clock.sleep(LOOK_MS, either).catch(() => undefined);
    this.#ears.delete(wake);
    abort?.throwIfAborted();
  }

  async #letGo(runs: FleetRun[]): Promise<void> {
    const done = new AbortController();
    const patience = this.#deps.clock.sleep(LET_GO_MS, done.signal).catch(() => undefined);
    await Promise.race([Promise.all(runs.map((run) => run.settled())), patience]);
    done.abort();
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

const fingerprintOf = ({ name, input }: Order) => fingerprint({ name, input });

function entryOf(order: Order, paths: HostPaths): EntryData {
  const { name, version, input } = order;
  return { name, version, input: fingerprintOf(order), value: paths.fromRecord(input) };
}

function notFound(runId: string): ReefError {
  return new ReefError('run_not_found', `There is no run ${runId}.`, { details: { runId } });
}
