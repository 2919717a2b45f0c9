import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { readEnvironment } from '../../src/base/env.ts';
import { openDatabase } from '../../src/fleet/database/open-database.ts';
import { Silence } from '../../src/fleet/database/silence.ts';
import { launchDbos } from '../../src/fleet/engine/dbos.ts';
import { FleetEngine } from '../../src/fleet/engine/fleet-engine.ts';
import { HostSession } from '../../src/fleet/host/session.ts';
import { readTimings } from '../../src/fleet/host/timings.ts';
import { Worker } from '../../src/fleet/host/worker.ts';
import { effectOnce } from '../../src/fleet/hub/effects.ts';
import { ReefError } from '../../src/protocol/errors.ts';
import { Store } from '../../src/store/store.ts';
import type { Durable, StepScope } from '../../src/workflow/durable/durable.ts';

/** A worker without agents: it claims, records, beats and judges as one does, and its blocks sleep and then have an effect. */
const [url = '', host = '', folder = '', slots = '2'] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const env = readEnvironment();
const timings = readTimings(env.all.REEF_FLEET_TIMINGS);
const silence = new Silence(timings.silence);
const database = await openDatabase(url, { env, role: 'reef_app', silence });
const facts = {
  ...{ host, boot: randomUUID(), labels: [`host=${host}`], slots: Number(slots), version: '1', interpreter: 1, folder },
};
const about = { database, facts, timings, clock: systemClock, log };
const session = new HostSession({ ...about, onSuperseded: () => worker.letGo(), onCut: () => silence.cutAll() });
const store = new Store(join(folder, 'db'));

const worker: Worker = new Worker({
  ...about,
  session,
  async openHome(repository) {
    const self = () => session.last;
    const home = new FleetEngine({ ...about, store, repository, dbos: () => dbos, self });
    home.define('sleeps', async (d, input) => sleeps(d, input as { blocks: number; ms: number }));
    return {
      engine: home,
      begin: (run) => home.start('sleeps', run.id, run.spec as { blocks: number; ms: number }),
      close: () => home.close(),
      forgetMoved: async () => {},
    };
  },
});

/** As every block that lands something waits for a database or a hub that is away. */
async function patiently<T>(work: () => Promise<T>, abort: AbortSignal): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ReefError && error.retryable)) throw error;
      await systemClock.sleep(200, abort);
    }
  }
}

async function sleeps(d: Durable, { blocks, ms }: { blocks: number; ms: number }): Promise<null> {
  for (let n = 0; n < blocks; n++) {
    await d.step(`block ${n}`, null, async ({ effectKey, abort }: StepScope) => {
      await systemClock.sleep(ms, abort);
      return patiently(
        () =>
          effectOnce(database, session.last, {
            ...{ key: effectKey, run: effectKey.split('/')[0] ?? '', kind: 'push' },
            happened: async () => {
              const [row] = await database.query<{ key: string }>('SELECT key FROM bench_target WHERE key = $1', [
                effectKey,
              ]);
              return row;
            },
            act: async () => {
              await database.query('INSERT INTO bench_target (key) VALUES ($1)', [effectKey]);
              return { key: effectKey };
            },
          }),
        abort,
      );
    });
  }
  return null;
}

await session.open();
const dbos = await launchDbos({
  ...{ url, log, silence, host, boot: facts.boot, version: 1 },
  walk: (id, order) => worker.walk(id, order),
});
await worker.start();
process.stdout.write('ready\n');
process.once('SIGTERM', () => process.exit(0));
process.stdin.once('end', () => process.exit(1)).resume();
