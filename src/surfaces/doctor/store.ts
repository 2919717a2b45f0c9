import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase, verdictOf } from './database.ts';
import { bad, byHand, type Check, check, type DoctorDeps, type Fix, ok, type Result, warn } from './finding.ts';
import { restartDaemon, settledByDaemon } from './settle.ts';

/** The store is imported late: a database driver that does not load is a finding too. */
export function storeChecks(deps: DoctorDeps): Check[] {
  return [
    check('lock', () => lock(deps.home)),
    check('database', () => database(deps)),
    check('snapshot', () => snapshot(deps)),
    check('set aside', () => setAside(deps.home)),
  ];
}

/** The kernel frees the lock of a dead process, so whoever holds it lives: it answers, or it hangs. */
async function lock({ lock: path, socket }: Home): Promise<Result> {
  if (!existsSync(path)) return ok('free', path);
  const { isLocked } = await import('../../store/home-lock.ts');
  if (!isLocked(path)) return ok('free', path);
  if (await listens(socket)) return ok('held by the daemon', path);
  return bad(
    'held by a daemon that does not answer',
    `${path} is locked, but nobody listens at ${socket}`,
    byHand('read daemon.log, then kill the process whose pid is in daemon.json'),
  );
}

async function database({ home, client, deep }: DoctorDeps): Promise<Result> {
  const path = home.database;
  const verdict = await verdictOf(path, deep);
  if (verdict === undefined) return ok('none yet', path);
  if (verdict === 'ok') return ok(`${deep ? 'integrity_check' : 'quick_check'} ok`, path);
  return bad('damaged', verdict.split('\n')[0] ?? '', await rebuild({ home, client, deep }));
}

/** Keeps the damaged file. The new one gets what the snapshot and the raw files hold. */
async function rebuild({ home, client, deep }: DoctorDeps): Promise<Fix> {
  if (await listens(home.socket)) return byHand('reef daemon stop, then reef doctor --fix');
  const apply = async () => {
    const { holdLock } = await import('../../store/home-lock.ts');
    const { setDatabaseAside } = await import('../../store/open-database.ts');
    const held = holdLock(home.lock);
    try {
      const verdict = await verdictOf(home.database, deep);
      if (verdict !== undefined && verdict !== 'ok') setDatabaseAside(home.database, systemClock);
    } finally {
      held.release();
    }
    await client.call('status', {});
  };
  return {
    does: 'keep the damaged file aside, and rebuild the database from state.json and the raw files',
    safe: true,
    apply,
  };
}

/** The snapshot may lag behind the database, but never has more. A lost database is rebuilt from it. */
async function snapshot({ home, client }: DoctorDeps): Promise<Result> {
  const path = home.snapshot;
  const { SnapshotFile } = await import('../../store/snapshot-file.ts');
  const load = () => new SnapshotFile(path).load();
  const isUnreadable = () =>
    load().then(
      () => false,
      () => true,
    );
  if (await isUnreadable()) {
    const fix = (await listens(home.socket)) ? restartDaemon : settledByDaemon(client, isUnreadable);
    return warn('not readable', path, fix);
  }
  const found = await load();
  if (found === null) return ok('none yet', path);
  const { EventTable } = await import('../../store/event-table.ts');
  const known = () => readDatabase(home.database, (sqlite) => new EventTable(sqlite).lastSeq());
  const last = (await known().catch(() => undefined)) ?? 0;
  if (found.lastSeq <= last) return ok(`has ${found.lastSeq} of ${last} events`, path);
  const evidence = `state.json has ${found.lastSeq} events, reef.db has ${last}`;
  const isLost = async () => ((await known()) ?? 0) < found.lastSeq;
  // A daemon rebuilds a database that is gone or empty. An older one was put there by somebody.
  return last === 0
    ? bad('the database is gone, but the snapshot is still there', evidence, settledByDaemon(client, isLost))
    : bad('the database is older than the snapshot', evidence, byHand('put back the newer reef.db, if you have it'));
}

async function setAside({ dir }: Home): Promise<Result[]> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^(?:reef\.db|state\.json)\.bad-[^-]/.test(name));
  const main = names.filter((name) => !name.endsWith('-wal')).sort();
  if (main.length === 0) return [ok('nothing', dir)];
  return main.map((name) =>
    warn(
      `${name} was damaged and has been replaced`,
      join(dir, name),
      byHand('check with `reef ps` that no job is missing, then delete it'),
    ),
  );
}
