import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../src/store/driver.ts';
import { makeWorld, type World } from '../test/e2e/harness.ts';
import { median, printRows, type Row, timed } from './measure.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const ROUNDS = 5;
const JOBS = 20;

/** What a home with a million events costs, beside one with ten thousand: a start, a list, a page, and memory. */
export async function benchStored(): Promise<boolean> {
  const few = await costs(FEW);
  const many = await costs(MANY);
  const row = (what: string, key: keyof Costs, unit: string, most: number): Row => {
    return { what, ours: many[key], theirs: few[key], unit, target: { most } };
  };
  return printRows(`${MANY.toLocaleString('en')} stored events · ${FEW.toLocaleString('en')}`, [
    row('from the call to a daemon that answers', 'start', 'ms', 1.5),
    row(`status of ${JOBS} jobs`, 'status', 'ms', 1.5),
    row('a page of 200 events', 'page', 'ms', 1.5),
    row('memory of the daemon', 'memory', 'MB', 1.3),
  ]);
}

interface Costs {
  start: number;
  status: number;
  page: number;
  memory: number;
}

async function costs(events: number): Promise<Costs> {
  const world = makeWorld();
  try {
    const ids = await makeJobs(world);
    await world.stopDaemon();
    fill(world, ids, events);
    const [start, status, page]: [number[], number[], number[]] = [[], [], []];
    const ask = () => world.client.call('status', {});
    const read = (id = '') => world.client.call('output', { id, since: '1000', limit: 200 });
    let memory = 0;
    for (let round = 0; round < ROUNDS; round++) {
      start.push(await timed(ask));
      for (let n = 0; n < 20; n++) status.push(await timed(ask));
      for (let n = 0; n < 20; n++) page.push(await timed(() => read(ids[n])));
      const { pid } = (await world.client.daemon()) ?? {};
      memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
      await world.stopDaemon();
    }
    return { start: median(start), status: median(status), page: median(page), memory };
  } finally {
    await world.close();
  }
}

async function makeJobs(world: World): Promise<string[]> {
  const agent = world.script('says', [{ say: 'hello' }]);
  world.configure({ reef: { timings: { linger: 0 } } });
  const ids: string[] = [];
  for (let n = 0; n < JOBS; n++) {
    ids.push((await world.client.call('spawn', { agent, task: `task ${n}` })).agentId);
    await world.until(ids.at(-1) ?? '', ({ endedAt }) => endedAt !== undefined);
  }
  return ids;
}

/** More events of the same jobs, as they would have been stored. */
function fill({ home }: World, ids: string[], events: number): void {
  const database = openSqlite(join(home.dir, 'reef.db'));
  const last = database.prepare<{ seq: number }>('SELECT max(seq) AS seq FROM event').get()?.seq ?? 0;
  const insert = database.prepare('INSERT INTO event (seq, at, job_id, type, payload) VALUES (?, ?, ?, ?, ?)');
  database.transaction(() => {
    for (let n = 1; n <= events; n++) {
      const payload = `{"kind":"text","text":"I look at the tests first, and then at what they say: ${n}"}`;
      insert.run(last + n, '2026-01-01T00:00:00.000Z', ids[n % ids.length] ?? '', 'progress', payload);
    }
  });
  database.close();
}
