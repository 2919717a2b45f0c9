import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../src/store/driver.ts';
import { makeWorld, type World } from '../test/e2e/harness.ts';
import { formatRows } from './formats.ts';
import { median, printRows, quantile, timed } from './measure.ts';

const EVENTS = 50_000;
const JOBS = 32;
const MB = 1024;

/** Events end to end (a program's line to a committed row) against raw batched inserts of the same rows. */
export async function benchEvents(): Promise<boolean> {
  const world = makeWorld();
  try {
    const agent = world.script('flood', [{ flood: { events: EVENTS } }]);
    world.configure({ timings: { linger: 0 }, maxJobs: JOBS });
    await world.client.call('status', {});
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    const { agentId } = await world.client.call('spawn', { agent, task: 'flood' });
    const written = bytesWritten(pid);
    const ours = await timed(() => world.client.call('wait', { ids: [agentId], until: ['done'] }));
    const theirs = await timed(() => rawInserts(join(world.root, 'raw.db')));
    const bytes = (await world.events(agentId)).reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    const most = { most: 3 };
    const rows = [
      ...(await formatRows()),
      {
        what: 'a program of 50,000 lines, with its start · raw SQLite',
        ours: EVENTS / ours,
        theirs: EVENTS / theirs,
        unit: 'events/ms',
      },
      {
        what: 'bytes written by the daemon · bytes of the events',
        // The kernel counts those of a child that has ended too: the raw output is written by the agent.
        ours: (bytesWritten(pid) - written - rawBytes(world.home.dir, agentId)) / 1e6,
        theirs: bytes / 1e6,
        unit: 'MB',
        target: most,
      },
    ];
    return printRows('Events, from a line of an agent to a stored event', rows);
  } finally {
    await world.close();
  }
}

/** many jobs at once. */
export async function benchLoad(): Promise<boolean> {
  const world = makeWorld();
  try {
    const agent = world.script('flood', [{ flood: { events: EVENTS } }]);
    world.configure({ timings: { linger: 0 }, maxJobs: JOBS });
    const look = () => timed(() => world.client.call('status', {}));
    await look();
    const ids: string[] = [];
    for (let n = 0; n < JOBS; n++) ids.push((await world.client.call('spawn', { agent, task: 'flood' })).agentId);
    const busy: number[] = [];
    const total = await timed(async () => {
      for (const id of ids) {
        while ((await world.job(id)).endedAt === undefined) {
          busy.push(await look());
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      }
    });
    const daemon = await world.client.daemon();
    const peak = peakRss(daemon?.pid ?? 0);
    // As many jobs to list, and nothing else to do.
    const idle: number[] = [];
    for (let n = 0; n < 50; n++) idle.push(await look());
    let lost = 0;
    for (const id of ids) lost += (await countTexts(world, id)) === EVENTS ? 0 : 1;
    console.log(
      `\n${JOBS} jobs × ${EVENTS.toLocaleString('en')} events: ${(total / 1000).toFixed(1)} s, ` +
        `${Math.round((JOBS * EVENTS) / total)} events/ms, jobs with a wrong count: ${lost}, ` +
        `peak memory of the daemon ${Math.round(peak / MB)} MB (≤ 300 MB${peak / MB <= 300 ? '' : ' ✗'})`,
    );
    const isFast = printRows('Answers during that load', [
      {
        what: 'p95 of status, loaded · idle',
        ours: quantile(busy, 0.95),
        theirs: quantile(idle, 0.95),
        unit: 'ms',
        target: { most: 5 },
      },
      { what: 'median of status, loaded · idle', ours: median(busy), theirs: median(idle), unit: 'ms' },
    ]);
    return isFast && lost === 0 && peak / MB <= 300;
  } finally {
    await world.close();
  }
}

function rawBytes(home: string, id: string): number {
  return statSync(join(home, 'jobs', id, '1', 'out')).size;
}

/** To the page cache: what a disk has to take in the end. */
function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

async function countTexts(world: World, id: string): Promise<number> {
  const events = await world.events(id);
  return events.filter((event) => event.type === 'progress' && event.payload.kind === 'text').length;
}

function rawInserts(path: string): void {
  const database = openSqlite(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec('CREATE TABLE event (seq INTEGER PRIMARY KEY, at TEXT, job_id TEXT, type TEXT, payload TEXT)');
  database.exec('CREATE INDEX event_job ON event (job_id, seq)');
  const insert = database.prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?)');
  for (let from = 1; from <= EVENTS; from += 1000) {
    database.exec('BEGIN IMMEDIATE');
    for (let seq = from; seq < from + 1000; seq++) {
      insert.run(
        seq,
        new Date().toISOString(),
        '01JC0000000000000000000000',
        'progress',
        `{"kind":"text","text":"flood ${seq}"}`,
      );
    }
    database.exec('COMMIT');
  }
  database.close();
}

/** In KiB, as the kernel kept it. */
function peakRss(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN);
}
