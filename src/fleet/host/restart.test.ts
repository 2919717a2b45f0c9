import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { addHost, asWorker, fleetDatabase } from '../../../test/support/fleet/fleet-database.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../../../test/support/postgres.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventually } from '../../../test/support/wait.ts';
import { systemClock } from '../../base/clock.ts';
import type { Database } from '../database/database.ts';
import { HostSession } from './session.ts';
import { takeOverLost } from './take-over.ts';

const server = postgresOfFile({ isSynced: true });
const log = { debug() {}, info() {}, warn() {}, error() {} };
const TTL = 2_000;

/** A host that beats and judges the others all the time, as a worker does. */
function host(database: Database, id: string, taken: string[]) {
  const facts = { host: id, boot: randomUUID(), labels: [], slots: 1, version: '1', interpreter: 1 };
  const session = new HostSession({
    ...{ database, clock: systemClock, log, onSuperseded: async () => {} },
    facts: { ...facts, folder: temporaryFolder() },
    timings: { beat: 50, ttl: TTL, look: 100, park: 1_000, silence: 1_000, hub: 1_000 },
  });
  let isOver = false;
  const judging = async () => {
    while (!isOver) {
      const lost = await takeOverLost(database, { host: id, heldMs: session.heldMs, ttl: TTL }).catch(() => []);
      taken.push(...lost.map((each) => `${id} took ${each}`));
      await systemClock.sleep(50);
    }
  };
  let work: Promise<void> | undefined;
  return {
    session,
    async open() {
      await session.open();
      work = judging();
    },
    async close() {
      isOver = true;
      await work;
      await session.close();
    },
  };
}

verifies('F-26')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'after a restart of PostgreSQL that took longer than a TTL nobody is taken over but the host that is not back',
    async () => {
      const database = await asWorker(await fleetDatabase(server()));
      const taken: string[] = [];
      const hosts = ['a', 'b', 'c'].map((id) => host(database, id, taken));
      for (const each of hosts) await each.open();
      await addHost(database, 'gone');
      await database.query("UPDATE reef.host SET beat = now() WHERE id = 'gone'");
      await server().kill();
      const down = performance.now();
      await eventually(
        () => performance.now() - down,
        (ms) => ms > 1.2 * TTL,
      );
      await server().start();
      // All beats are older than a TTL now, and every lock is free. The others come back; this one does not.
      await eventually(
        () => taken.length,
        (n) => n > 0,
      );
      const rows = await database.query('SELECT id, epoch, state FROM reef.host ORDER BY id');
      expect(taken.map((each) => each.replace(/^. took /, ''))).toEqual(['gone']);
      expect(rows).toEqual([
        ...['a', 'b', 'c'].map((id) => ({ id, epoch: 1, state: 'up' })),
        { id: 'gone', epoch: 2, state: 'lost' },
      ]);
      for (const each of hosts) await each.close();
      await database.close();
    },
  );
