/** A worker as far as shipping goes: events come into its home all the time, until it is killed. */
import { readEnvironment } from '../../../src/base/env.ts';
import { openDatabase } from '../../../src/fleet/database/open-database.ts';
import { Shipper } from '../../../src/fleet/store/shipper.ts';
import { testHome } from './test-home.ts';

const [folder = '', url = '', host = ''] = process.argv.slice(2);
const home = testHome(folder, 'shop');
const env = readEnvironment();
const open = async (): Promise<Awaited<ReturnType<typeof openDatabase>>> =>
  openDatabase(url, { env, role: 'reef_app' }).catch(() => open());
const database = await open();
const shipper = new Shipper({
  database,
  log: { error: (...words: unknown[]) => console.error(words) } as never,
  identity: () => ({ host, epoch: 1 }),
  homes: () => [home],
});
void shipper.run(new AbortController().signal);
setInterval(() => home.messages('J', 7), 5);
