import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { launchDbos } from '../../../src/fleet/engine/dbos.ts';
import { FleetEngine } from '../../../src/fleet/engine/fleet-engine.ts';
import { Store } from '../../../src/store/store.ts';
import { disposableFolder } from '../temporary-folder.ts';
import { addHost, addRepository, asWorker } from './fleet-database.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const HOST = 'host-1';

/** An engine of one host over that database, with an empty home of its own: what it knows of a run is in Postgres. */
export async function openFleetEngine(
  url: string,
  { version = 1 } = {},
): Promise<{ engine: FleetEngine; close(): Promise<void> }> {
  const database = await asWorker(url);
  const [known] = await database.query("SELECT 1 FROM reef.repository WHERE id = 'shop'");
  if (!known) await addRepository(database, 'shop');
  await addHost(database, HOST);
  const folder = disposableFolder();
  const store = new Store(join(folder.path, 'db'));
  const dbos = await launchDbos({
    ...{ url, host: HOST, boot: randomUUID(), version, log },
    walk: (id, order) => engine.walk(id, order),
  });
  const engine = new FleetEngine({
    ...{ store, clock: systemClock, log, database, repository: 'shop' },
    dbos: () => dbos,
    self: () => ({ host: HOST, epoch: 1 }),
  });
  return {
    engine,
    async close() {
      await engine.close();
      await dbos.close();
      await database.close();
      store.close();
      folder[Symbol.dispose]();
    },
  };
}
