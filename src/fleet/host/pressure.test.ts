import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, expect } from 'vitest';
import { addRepository, asWorker, fleetDatabase } from '../../../test/support/fleet/fleet-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { systemClock } from '../../base/clock.ts';
import type { Database } from '../database/database.ts';
import { startRun } from '../hub/start-run.ts';
import { claimNext } from './claims.ts';
import { HostSession } from './session.ts';

const server = postgresOfFile();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const disk = temporaryFolder();
const isMounted = mountDisk();
afterAll(() => isMounted && execFileSync('umount', ['--lazy', disk]));

function mountDisk(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function open(folder: string) {
  const database = await asWorker(await fleetDatabase(server()));
  await addRepository(database, 'shop', { cap: 2_000 });
  const facts = { host: 'h', boot: randomUUID(), labels: [], slots: 9, version: '1', interpreter: 1, folder };
  const session = new HostSession({
    ...{ database, clock: systemClock, log, onSuperseded: async () => {}, facts },
    timings: { beat: 300, ttl: 60_000, look: 100, park: 1_000, silence: 30_000, hub: 1_000 },
  });
  await session.open();
  const claim = () => claimNext(database, { host: 'h', epoch: 1 }, { labels: [], slots: 9 });
  const close = async () => {
    await session.close();
    await database.close();
  };
  return { database, session, claim, [Symbol.asyncDispose]: close };
}

const becomes = (session: HostSession, state: string) =>
  eventually(
    () => session.state,
    (seen) => seen === state,
  );

const newRun = (database: Database) =>
  startRun(database, { repository: 'shop', task: 't', spec: {}, needs: [], priority: 1, by: 'ada' });

verifies('F-51')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'a host whose beats take long claims nothing until they are quick again, and a full queue takes no more',
    async () => {
      await using fleet = await open(temporaryFolder());
      const { database, session, claim } = fleet;
      const { id } = await newRun(database);
      const slow = database.transaction(async (q) => {
        await q.query("SELECT 1 FROM reef.host WHERE id = 'h' FOR UPDATE");
        await q.query('SELECT pg_sleep(2.5)'); // whoever beats waits for the row
      });
      await becomes(session, 'unfit');
      expect(await claim()).toBeUndefined();
      await slow;
      await becomes(session, 'up');
      expect((await claim())?.id).toBe(id);
      await database.query(
        "INSERT INTO reef.run (id, repository, task, by) SELECT 'r' || n, 'shop', 't', 'ada' FROM generate_series(1, 1000) n",
      );
      await expect(newRun(database)).rejects.toMatchObject({ code: 'queue_full', retryable: true });
    },
  );

verifies('F-64')
  .needs(hasPostgres && isMounted, hasPostgres ? 'mounting a small disk is not allowed here' : NO_POSTGRES)
  .test('a host whose disk is full claims nothing and keeps what it has; with room again it claims', async () => {
    execFileSync('mount', ['-o', 'remount,size=6g', disk]);
    await using fleet = await open(disk);
    const { database, session, claim } = fleet;
    for (let n = 0; n < 2; n++) await newRun(database);
    const first = await claim();
    execFileSync('mount', ['-o', 'remount,size=1m', disk]);
    await becomes(session, 'unfit');
    expect(await claim()).toBeUndefined();
    const [kept] = await database.query('SELECT status, host FROM reef.run WHERE id = $1', [first?.id]);
    expect(kept).toEqual({ status: 'running', host: 'h' });
    execFileSync('mount', ['-o', 'remount,size=6g', disk]);
    await becomes(session, 'up');
    expect(await claim()).toMatchObject({ known: false });
  });
