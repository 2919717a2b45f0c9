import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync, writevSync } from 'node:fs';
import { join } from 'node:path';
import { endLaunch } from '../../../src/agents/ending.ts';
import { ingest, RawOutput } from '../../../src/agents/ingest.ts';
import { freshRuntime, type JobRuntime } from '../../../src/agents/job-runtime.ts';
import { type JobStorage, JobTransaction, loadJob } from '../../../src/agents/job-transaction.ts';
import { enqueueMessage } from '../../../src/agents/outbox.ts';
import { reefProtocolAdapter } from '../../../src/agents/reef-protocol/adapter.ts';
import { takeSnapshot } from '../../../src/agents/snapshotter.ts';
import { noUsage } from '../../../src/agents/usage.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/log.ts';
import { EventLog } from '../../../src/events/event-log.ts';
import type { Job } from '../../../src/protocol/jobs.ts';
import { holdLock } from '../../../src/store/home-lock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { type Snapshot, SnapshotFile } from '../../../src/store/snapshot-file.ts';
import type { Store } from '../../../src/store/store.ts';
import { Journal } from '../../../src/workflow/durable/journal.ts';

/**
 * For tests: a small program that writes to a home in every way there is. `store-writer.ts DIR TWIN` says after each step what
 * the store holds now; a test kills it, or takes writes away, and looks at what is left.
 */

/** Known-bad twins of the store, which every check of it must notice. */
export type Twin = 'none' | 'plain rewrite' | 'offset apart' | 'unsynced commit';

/** What is said after each step, in one call of the kernel. */
export interface Told {
  step: string;
  /** It survives a power cut, not only a kill. */
  isDurable: boolean;
  contents: string;
}

export const LINES = 30;
const BATCH = 6;
const ID = 'J';
const adapter = reefProtocolAdapter('writer');
const text = (n: number) => ({
  do: 'text',
  kind: 'text',
  id: `m${n}`,
  text: `line ${n} ${'x'.repeat(300)}`,
  final: true,
});
const line = (n: number) => `${JSON.stringify(text(n))}\n`;
const rawOf = (dir: string) => ({ out: join(dir, 'out'), err: join(dir, 'err') });

/** What a home of this program lies in before it starts: an agent has written all it has to say. */
export function prepareHome(dir: string): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(rawOf(dir).out, Array.from({ length: LINES }, (_, n) => line(n)).join(''));
  writeFileSync(rawOf(dir).err, '');
}

export interface Home {
  store: Store;
  storage: JobStorage;
  snapshots: SnapshotFile;
  complaints: string[];
}

export async function openHome(dir: string): Promise<Home> {
  const complaints: string[] = [];
  const write = (said: string) => void complaints.push(JSON.parse(said).message);
  const log = createLogger({ write, clock: systemClock, redact: (each) => each });
  const snapshots = new SnapshotFile(join(dir, 'state.json'));
  const files = { database: join(dir, 'reef.db'), snapshot: join(dir, 'state.json') };
  const store = await openStore(files, { hook: snapshots, clock: systemClock, log });
  const events = new EventLog({ rows: store.events, clock: systemClock, redact: (each) => each });
  const savedGrants = { has: () => false, add: async () => {} };
  return { store, storage: { store, log: events, clock: systemClock, savedGrants }, snapshots, complaints };
}

/** Everything that is stored, less times. */
export function contentsOf({ store }: Pick<Home, 'store'>): string {
  const jobs = ['J', 'K'].flatMap((id) => {
    const record = store.jobs.get<JobRuntime>(id);
    if (!record) return [];
    const log = store.events.ofJob({ jobId: id, after: 0, limit: 1_000 }).map(({ seq, type }) => `${seq} ${type}`);
    return [{ id, status: record.job.status, read: record.runtime.read, open: store.outbox.open(id).length, log }];
  });
  const entries = store.journal.after('run', 0, 100).map(({ n, kind, key }) => `${n} ${kind} ${key}`);
  const hash = createHash('sha1').update(JSON.stringify({ jobs, entries })).digest('hex').slice(0, 12);
  return `${store.events.lastSeq()} ${jobs.map(({ status }) => status)} ${entries.length} ${hash}`;
}

/** Reads on where the last life stopped, to the end. The numbers of the lines that were told, in order. */
export async function readOn({ storage, store }: Home, dir: string): Promise<number[]> {
  const record = store.jobs.get<JobRuntime>(ID);
  if (record?.job.status !== 'running') return [];
  const raw = new RawOutput(rawOf(dir), record.runtime.read);
  for (let isMore = true; isMore; ) {
    const batch = await raw.next();
    change(storage, 'record', (tx) => ingest(tx, adapter, batch));
    isMore = batch.out.length > 0;
  }
  await raw.close();
  const log = store.events.ofJob({ jobId: ID, after: 0, limit: 1_000 });
  return log.flatMap(({ payload }) => ('text' in payload ? [Number(`${payload.text}`.split(' ')[1])] : []));
}

function change(storage: JobStorage, how: 'commit' | 'record', act: (tx: JobTransaction) => void, id = ID): void {
  storage.store[how](() => {
    const tx = new JobTransaction(storage, loadJob(storage, id));
    act(tx);
    tx.save();
  });
}

function newJob(id: string): Job {
  const fixed = {
    agent: 'writer',
    mode: 'headless',
    task: 't',
    cwd: '/',
    keep: false,
    yes: false,
    sandbox: 'none',
  } as const;
  const counts = { depth: 0, launch: 1, turns: 0, workedMs: 0, unknownMessages: 0, usage: noUsage, budget: {} };
  return { id, rootId: id, status: 'queued', createdAt: '2026-01-01T00:00:00.000Z', ...fixed, ...counts };
}

/** All steps of one life, each told when it is done. */
class Writer {
  readonly #dir: string;
  readonly #twin: Twin;

  constructor(dir: string, twin: Twin) {
    this.#dir = dir;
    this.#twin = twin;
  }

  async write(): Promise<void> {
    const lock = holdLock(join(this.#dir, 'daemon.lock'));
    const home = await openHome(this.#dir);
    this.#tell(home, 'migrate', false);
    this.#spawn(home, ID);
    await this.#readAll(home);
    this.#append(home);
    this.#end(home);
    await this.#save(home, 'save');
    this.#spawn(home, 'K');
    this.#prune(home);
    home.store.close();
    const again = await openHome(this.#dir);
    this.#tell(again, 'open again', true);
    change(again.storage, this.#commit, (tx) => tx.warn('the last'), 'K');
    this.#tell(again, 'the last', true);
    again.store.close();
    lock.release();
  }

  get #commit(): 'commit' | 'record' {
    return this.#twin === 'unsynced commit' ? 'record' : 'commit';
  }

  #tell(home: Home, step: string, isDurable: boolean): void {
    const told: Told = { step, isDurable, contents: contentsOf(home) };
    // In two parts, or it would not be this call.
    writevSync(1, [Buffer.from(JSON.stringify(told)), Buffer.from('\n')]);
  }

  #spawn(home: Home, id: string): void {
    const { store, storage } = home;
    store[this.#commit](() => {
      store.jobs.insert({ job: newJob(id), runtime: freshRuntime() }, `key of ${id}`);
      const tx = new JobTransaction(storage, loadJob(storage, id));
      enqueueMessage(tx, { messageId: `task of ${id}`, text: 'do it', by: 'me', isTask: true });
      const about = { agent: 'writer', mode: 'headless', cwd: '/', pid: 7, sandbox: 'none' } as const;
      tx.emit({ type: 'started', payload: { ...about, command: [], launch: 1, resumed: false } });
      tx.save();
    });
    this.#tell(home, `spawn ${id}`, true);
  }

  /** Ingested output is synced a moment later, and the snapshot written meanwhile. */
  async #readAll(home: Home): Promise<void> {
    const { storage, store } = home;
    const raw = new RawOutput(rawOf(this.#dir), { out: 0, err: 0 });
    const { out } = await raw.next();
    const bytes = Buffer.byteLength(line(10));
    for (let at = 0; at < LINES; at += BATCH) {
      const lines = out.slice(at, at + BATCH);
      const last = lines.at(-1);
      const read = { out: (last?.offset ?? 0) + (last?.bytes ?? bytes), err: 0 };
      const before = store.jobs.get<JobRuntime>(ID)?.runtime.read ?? read;
      const isApart = this.#twin === 'offset apart';
      change(storage, 'record', (tx) =>
        ingest(tx, adapter, { out: lines, err: [], read: isApart ? before : read, isFull: false }),
      );
      if (isApart) change(storage, 'record', (tx) => Object.assign(tx.runtime, { read }));
      this.#tell(home, `ingest ${at}`, false);
      if (at % (2 * BATCH) === 0) continue;
      store.sync();
      this.#tell(home, `sync ${at}`, true);
      await this.#save(home, `save ${at}`);
    }
    await raw.close();
  }

  async #save({ store, storage, snapshots }: Home, _step: string): Promise<void> {
    const snapshot: Snapshot = await takeSnapshot({ store, clock: storage.clock, redact: (each) => each });
    if (this.#twin !== 'plain rewrite') return snapshots.save(snapshot);
    const path = join(this.#dir, 'state.json');
    writeFileSync(path, '');
    for (const part of JSON.stringify(snapshot).match(/.{1,2000}/gs) ?? []) appendFileSync(path, part);
  }

  /** An entry, and one that is kept beside the journal because it is long. */
  #append(home: Home): void {
    const journal = new Journal({ store: home.store, clock: systemClock });
    for (const [key, value] of [
      ['short', 'x'],
      ['long', 'x'.repeat(70_000)],
    ] as const) {
      journal.append('run', { kind: key === 'short' ? 'start' : 'step', key, data: { value } });
      this.#tell(home, `append ${key}`, this.#twin !== 'unsynced commit');
    }
  }

  #end(home: Home): void {
    const end = { code: 0, ceilingReached: false, at: '2026-01-01T00:00:01.000Z' };
    change(home.storage, this.#commit, (tx) => endLaunch(tx, end, adapter));
    this.#tell(home, 'end', true);
  }

  #prune(home: Home): void {
    const { store } = home;
    for (let step = 0, isMore = true; isMore; step++) {
      isMore = store.record(() => store.retention.removeEvents(ID));
      this.#tell(home, `prune events ${step}`, false);
    }
    const task = { id: ID, kind: 'job' as const, task: 't', endedAt: '', jobs: [ID] };
    store[this.#commit](() => store.retention.removeTask(task, '2026-01-01T00:00:02.000Z'));
    this.#tell(home, 'prune', true);
    store.retention.release();
    this.#tell(home, 'release', false);
  }
}

if (process.argv[1] === import.meta.filename) {
  const [, , dir = '', twin = 'none'] = process.argv;
  await new Writer(dir, twin as Twin).write();
}
