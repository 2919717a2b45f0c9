import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEvent } from '../src/protocol/events.ts';
import { openSqlite } from '../src/store/driver.ts';
import { serve } from '../test/e2e/door-rig.ts';
import { makeWorld, type World } from '../test/e2e/harness.ts';
import { formatRows } from './formats.ts';
import { median, printLimits, printRows, quantile, timed } from './measure.ts';

const EVENTS = 50_000;
const FOLLOWERS = join(import.meta.dirname, 'followers.ts');
const MB = 1024;

/** Events end to end (a program's line to a committed row) against raw batched inserts of the same rows. */
export async function benchEvents(): Promise<boolean> {
  const world = makeWorld();
  try {
    const agent = world.script('flood', [{ flood: { events: EVENTS } }]);
    world.configure({ reef: { timings: { linger: 0 } } });
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

/** Many jobs that write, alone and with many readers: what others wait for, what is lost, and what it takes. */
export async function benchLoad(): Promise<boolean> {
  const isKept = await load({ jobs: 32, events: 50_000, readers: 0 });
  return (await load({ jobs: 64, events: 10_000, readers: 50 })) && isKept;
}

interface Load {
  jobs: number;
  events: number;
  readers: number;
}

async function load({ jobs, events, readers }: Load): Promise<boolean> {
  const world = makeWorld();
  try {
    const agent = world.script('flood', [{ flood: { events } }]);
    world.configure({ reef: { timings: { linger: 0 }, maxJobs: jobs } });
    const door = await serve(world);
    const look = () => timed(() => world.client.call('status', {}));
    await look();
    const ids: string[] = [];
    for (let n = 0; n < jobs; n++) ids.push((await world.client.call('spawn', { agent, task: 'flood' })).agentId);
    const following = readers === 0 ? undefined : follow(world, readers, ids);
    await loopDelay(door);
    const busy: number[] = [];
    const total = await timed(async () => {
      for (const id of ids) {
        while ((await world.job(id)).endedAt === undefined) {
          busy.push(await look());
          await sleep(100);
        }
      }
    });
    const held = await loopDelay(door);
    await following;
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    // As many jobs to list, and nothing else to do.
    const idle: number[] = [];
    for (let n = 0; n < 50; n++) idle.push(await look());
    let wrong = 0;
    for (const id of ids) wrong += isWhole(await world.events(id), events) ? 0 : 1;
    const what = `${jobs} jobs × ${events.toLocaleString('en')} events, ${readers} readers`;
    console.log(`\n${what}: ${(total / 1000).toFixed(1)} s, ${Math.round((jobs * events) / total)} events/ms`);
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
    const isLight = printLimits('The daemon', [
      { what: 'jobs with an event lost, repeated or out of order', measured: wrong, most: 0, unit: 'jobs' },
      { what: 'peak memory', measured: peakRss(pid) / MB, most: 300, unit: 'MB' },
      { what: 'longest that the event loop was held up', measured: held, most: 20, unit: 'ms' },
    ]);
    return isFast && isLight;
  } finally {
    await world.close();
  }
}

function isWhole(events: AgentEvent[], count: number): boolean {
  const said = events.flatMap(({ type, payload }) =>
    type === 'progress' && payload.kind === 'text' ? [payload.text] : [],
  );
  return said.length === count && said.every((text, n) => text === `flood ${n + 1}`);
}

async function follow({ env, repository: cwd }: World, readers: number, ids: string[]): Promise<void> {
  const child = spawn(process.execPath, [FOLLOWERS, String(readers), ...ids], { env, cwd, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the readers ended with ${code}`);
}

/** The longest delay since the last look, in milliseconds. */
async function loopDelay({ port, token }: { port: number; token: string }): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  return 1_000 * Number(/^reef_event_loop_delay_seconds\{quantile="1"\} (\S+)/m.exec(text)?.[1]);
}

function rawBytes(home: string, id: string): number {
  return statSync(join(home, 'jobs', id, '1', 'out')).size;
}

/** To the page cache: what a disk has to take in the end. */
function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
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
