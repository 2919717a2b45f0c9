import { setAside } from '../base/atomic-file.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { restoreWork } from './kept-work.ts';
import { openDatabase } from './open-database.ts';
import type { PersistenceHook, Snapshot } from './snapshot-file.ts';
import { Store } from './store.ts';

interface Files {
  database: string;
  snapshot: string;
}

interface Helpers {
  hook: PersistenceHook;
  clock: Clock;
  log: Logger;
}

/**
 * Opens the database. A damaged one, or a damaged snapshot, is set aside and named, never taken for empty. A lost database is
 * rebuilt from the snapshot and reads on in the raw files from there.
 */
export async function openStore(files: Files, helpers: Helpers): Promise<Store> {
  const snapshot = await loadSnapshot(files.snapshot, helpers);
  const store = openDatabase(files.database, (path) => new Store(path), {
    clock: helpers.clock,
    onDamage: (aside) => helpers.log.error('the database is damaged and was set aside', { aside }),
  });
  const isEmpty = store.events.lastSeq() === 0 && store.worktrees.openRows().length === 0;
  const isLost = snapshot !== null && (snapshot.lastSeq > 0 || snapshot.work !== undefined) && isEmpty;
  if (isLost) {
    rebuild(store, snapshot);
    helpers.log.warn('the database was rebuilt from state.json', { lastSeq: snapshot.lastSeq });
  }
  return store;
}

async function loadSnapshot(path: string, { hook, clock, log }: Helpers): Promise<Snapshot | null> {
  try {
    return await hook.load();
  } catch (error) {
    const aside = setAside(path, clock);
    log.error('state.json cannot be read and was set aside', { aside, reason: String(error) });
    return null;
  }
}

function rebuild(store: Store, snapshot: Snapshot): void {
  store.commit(() => {
    const events = Object.values(snapshot.tails).flat();
    for (const event of events.sort((a, b) => a.seq - b.seq)) store.events.restore(event);
    for (const job of snapshot.active) store.jobs.insert({ job, runtime: snapshot.runtimes[job.id] });
    for (const job of snapshot.completed) {
      const record = { job, runtime: snapshot.runtimes[job.id] };
      store.jobs.insert(record);
      store.jobs.update(record, snapshot.tails[job.id]?.at(-1)?.seq ?? 0);
    }
    for (const question of snapshot.questions) store.questions.insert(question);
    for (const row of snapshot.outbox) store.outbox.insert(row);
    if (snapshot.work) restoreWork(store, snapshot.work);
  });
}
