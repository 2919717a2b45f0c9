import { readEnvironment } from '../../src/base/env.ts';
import type { Database } from '../../src/fleet/database/database.ts';
import { openDatabase } from '../../src/fleet/database/open-database.ts';
import { listHosts, listRuns } from '../../src/fleet/hub/fleet-view.ts';
import { readEvents } from '../../src/fleet/store/fleet-events.ts';
import { openQuestions } from '../../src/fleet/store/inbox.ts';
import { addRepository, asWorker, fleetDatabase } from '../../test/support/fleet/fleet-database.ts';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { median, printRows, timed } from '../measure.ts';

const EVENTS = 20_000;
const RUNS = 500;
const LOOKS = 40;
const PAGE = 200;

interface Filled {
  database: Database;
  after: string;
  status: number[];
  page: number[];
}

/** What a page and `status` read, with so many events and with ten times as many, in turn. */
export async function benchReading(): Promise<boolean> {
  await using server = await startPostgres();
  const few = await filled(server, EVENTS);
  const many = await filled(server, EVENTS * 10);
  for (let n = 0; n < LOOKS; n++) for (const each of [few, many]) await look(each);
  for (const { database } of [few, many]) await database.close();
  const of = (what: string, name: 'status' | 'page') => ({
    ...{ what, ours: median(many[name]), theirs: median(few[name]), unit: 'ms', target: { most: 1.5 } },
  });
  return printRows('ten times the events', [
    of('status: runs, hosts, inbox', 'status'),
    of('one page of events', 'page'),
  ]);
}

async function look({ database, after, status, page }: Filled): Promise<void> {
  status.push(await timed(() => Promise.all([listRuns(database, {}), listHosts(database), openQuestions(database)])));
  page.push(await timed(() => readEvents(database, { after, limit: PAGE })));
}

async function filled(server: PostgresServer, events: number): Promise<Filled> {
  const url = await fleetDatabase(server);
  const database = await asWorker(url);
  await addRepository(database, 'shop');
  const runs =
    "INSERT INTO reef.run (id, repository, task, by) SELECT 'run' || n, 'shop', 't', 'ada' FROM generate_series(1, $1::int) n";
  await database.query(runs, [RUNS]);
  for (let from = 1; from <= events; from += EVENTS) {
    await database.query(
      `INSERT INTO reef.event (host, n, seq, at, repository, job, type, payload)
       SELECT 'h', n, n, now(), 'shop', 'job' || n % 500, 'message', jsonb_build_object('text', repeat('x', 400))
       FROM generate_series($1::int, $2::int) n`,
      [from, from + EVENTS - 1],
    );
  }
  const admin = await openDatabase(url, { env: readEnvironment() });
  for (const settle of ['VACUUM ANALYZE', 'CHECKPOINT']) await admin.query(settle);
  await admin.close();
  const { cursor } = await readEvents(database, { after: undefined, limit: PAGE });
  return { database, after: cursor, status: [], page: [] };
}
