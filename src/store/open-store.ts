import { statSync } from 'node:fs';
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

/** Says it to whoever reads the log, and keeps it for those who read the events. */
type Tell = (level: 'error' | 'warn', message: string, fields: Record<string, unknown>) => void;

/** The events that are about no job name this as theirs. */
const OF_THE_HOME = 'reef';

/**
 * Opens the database. A damaged one, or a damaged snapshot, is set aside and named, never taken for empty. A lost database is
 * rebuilt from the snapshot and reads on in the raw files from there; so is what only its lost write-ahead log had.
 */
export async function openStore(files: Files, helpers: Helpers): Promise<Store> {
  const told: string[] = [];
  const tell: Tell = (level, message, fields) => {
    helpers.log[level](message, fields);
    told.push(message);
  };
  const snapshot = await loadSnapshot(files.snapshot, helpers, tell);
  // SQLite removes its log when it is closed, with all of it in the database. A daemon that was killed leaves it.
  const hasLog = (statSync(`${files.database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const store = openDatabase(files.database, (path) => new Store(path), {
    clock: helpers.clock,
    onDamage: (aside) => tell('error', 'the database is damaged and was set aside', { aside }),
  });
  if (snapshot !== null) bringBack(store, snapshot, { hasLog, tell });
  if (told.length > 0) tellAll(store, helpers.clock, told);
  return store;
}

function bringBack(store: Store, snapshot: Snapshot, { hasLog, tell }: { hasLog: boolean; tell: Tell }): void {
  const { lastSeq } = snapshot;
  if (isLost(store, snapshot)) {
    takeOver(store, snapshot);
    tell('warn', 'the database was rebuilt from state.json', { lastSeq });
  } else if (!hasLog && isBehind(store, snapshot)) {
    const had = store.events.lastSeq();
    takeOver(store, snapshot);
    tell('warn', 'the log of the database is gone: what was newer comes from state.json', { had, lastSeq });
  }
}

/** One event, however much was damaged. */
function tellAll(store: Store, clock: Clock, told: readonly string[]): void {
  const failure = { code: 'store_damaged', message: told.join('; '), fatal: false, scope: 'line', retryable: false };
  const event = {
    at: clock.now().toISOString(),
    jobId: OF_THE_HOME,
    type: 'error',
    payload: JSON.stringify(failure),
  } as const;
  store.commit(() => store.events.append(event));
}

function isLost({ events, worktrees }: Store, { lastSeq, work }: Snapshot): boolean {
  return (lastSeq > 0 || work !== undefined) && events.lastSeq() === 0 && worktrees.openRows().length === 0;
}

/** A database that was closed is never behind the snapshot, which is written from it. */
function isBehind({ events, journal }: Store, { lastSeq, work }: Snapshot): boolean {
  const runs = work?.runs ?? [];
  return lastSeq > events.lastSeq() || runs.some((run) => (run.journal ?? []).length > journal.lastOf(run.id));
}

async function loadSnapshot(path: string, { hook, clock }: Helpers, tell: Tell): Promise<Snapshot | null> {
  try {
    return await hook.load();
  } catch (error) {
    const aside = setAside(path, clock);
    tell('error', 'state.json cannot be read and was set aside', { aside, reason: String(error) });
    return null;
  }
}

/** What the snapshot knows is newer than what the database has of it. */
function takeOver(store: Store, snapshot: Snapshot): void {
  const { active, completed, tails, runtimes, work } = snapshot;
  store.commit(() => {
    const had = store.events.lastSeq();
    const events = Object.values(tails).flat();
    const news = events.filter(({ seq }) => seq > had);
    for (const event of news.sort((a, b) => a.seq - b.seq)) store.events.restore(event);
    for (const job of [...active, ...completed]) {
      const record = { job, runtime: runtimes[job.id] };
      const hasEnded = completed.includes(job);
      if (!store.jobs.get(job.id)) store.jobs.insert(record);
      store.jobs.update(record, hasEnded ? (tails[job.id]?.at(-1)?.seq ?? 0) : null);
      takeOverTalk(store, snapshot, job.id);
    }
    if (work) restoreWork(store, work);
  });
}

/** The snapshot has all that is open: what is open in the database alone was closed since. */
function takeOverTalk({ questions, outbox }: Store, snapshot: Snapshot, jobId: string): void {
  for (const { question, state } of questions.unclosedOf(jobId)) {
    questions.move({ jobId, questionId: question.questionId }, state, { state: 'closed' });
  }
  for (const question of snapshot.questions.filter((each) => each.jobId === jobId)) questions.insert(question);
  for (const { key } of outbox.open(jobId)) outbox.move(key, 'delivered');
  for (const row of snapshot.outbox.filter((each) => each.jobId === jobId)) {
    if (!outbox.insert(row)) outbox.move(row.key, row.state, row.doc);
  }
}
