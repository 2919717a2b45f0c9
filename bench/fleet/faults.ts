import { randomInt } from 'node:crypto';
import { startLink } from '../../test/support/fleet/link.ts';
import { eventually } from '../../test/support/wait.ts';
import { type Limit, printLimits, printRows, type Row } from '../measure.ts';
import { BenchFleet } from './rig.ts';

const TTL = 3_000;
const RUNS = 150;
const WORK = { blocks: 3, ms: 300 };

/** From the fault to the moment at which another host may go on. */
export async function benchTakeOver(): Promise<boolean> {
  await using fleet = await BenchFleet.open();
  await using link = await startLink(fleet.server.port);
  const timings = `beat=200,ttl=${TTL},look=500,park=600000,silence=1000`;
  const name = new URL(fleet.url).pathname.slice(1);
  const behind = fleet.server
    .url(name, { user: 'reef_app', tcp: true })
    .replace(`:${fleet.server.port}/`, `:${link.port}/`);
  await fleet.start('judge', { timings });
  const victims = ['gone', 'stopped', 'swallowed'] as const;
  for (const each of victims) {
    await fleet.start(each, { timings, ...(each === 'swallowed' && { url: behind }) });
    await fleet.queue(1, { blocks: 1, ms: 600_000 }, [`host=${each}`]);
  }
  const lost = () =>
    fleet.database.query<{ host: string; lost: number }>(
      `SELECT needs[1] AS host, lost_count AS lost FROM reef.run WHERE status IN ('running', 'queued')`,
    );
  const running = () => fleet.database.query("SELECT 1 FROM reef.run WHERE status = 'running'");
  await eventually(running, (rows) => rows.length === victims.length);
  await eventually(
    () =>
      fleet.database.query<{ old: boolean }>(
        `SELECT now() - session_since > '${TTL} ms' AS old FROM reef.host WHERE id = 'judge'`,
      ),
    ([row]) => row?.old === true,
  );
  const began = performance.now();
  fleet.signal('gone', 'SIGKILL');
  fleet.signal('stopped', 'SIGSTOP');
  link.swallow();
  const took = new Map<string, number>();
  await eventually(lost, (rows) => {
    for (const row of rows) if (row.lost > 0 && !took.has(row.host)) took.set(row.host, performance.now() - began);
    return took.size === victims.length;
  });
  const rows: Row[] = victims.map((each) => ({
    what: `take-over, ${each} · TTL`,
    ours: took.get(`host=${each}`) ?? Number.NaN,
    theirs: TTL,
    unit: 'ms',
    target: { most: 1.3 },
  }));
  return printRows('take-over', rows);
}

/** Runs go on while workers and the server are killed: every effect is there once. */
export async function benchKills(): Promise<boolean> {
  await using fleet = await BenchFleet.open({ isSynced: true });
  const timings = 'beat=300,ttl=60000,look=500,park=600000,silence=3000';
  for (const host of ['a', 'b', 'c', 'd']) await fleet.start(host, { timings });
  await fleet.queue(RUNS, WORK);
  const ended = fleet.drained(150_000);
  const fired = await killUntil(fleet, ended);
  const [seen] = await fleet.database.query<{ keys: number; all: number }>(
    'SELECT count(DISTINCT key) AS keys, count(*) AS all FROM bench_target',
  );
  const [failed] = await fleet.database.query<{ n: number }>(
    "SELECT count(*) AS n FROM reef.run WHERE outcome ->> 'status' IS DISTINCT FROM 'completed'",
  );
  const why = await fleet.database.query<{ outcome: string; runs: number }>(
    "SELECT outcome::text AS outcome, count(*) AS runs FROM reef.run WHERE outcome ->> 'status' IS DISTINCT FROM 'completed' GROUP BY 1",
  );
  for (const { outcome, runs } of why) console.log(`${runs} runs: ${outcome}`);
  const [tries] = await fleet.database.query<{ all: number }>('SELECT count(*) AS all FROM reef.attempt');
  const blocks = RUNS * WORK.blocks;
  const limits: Limit[] = [
    { what: 'runs that did not complete', measured: failed?.n ?? RUNS, most: 0, unit: 'runs' },
    { what: 'effects lost', measured: blocks - (seen?.keys ?? 0), most: 0, unit: 'effects' },
    { what: 'effects doubled', measured: (seen?.all ?? 0) - (seen?.keys ?? 0), most: 0, unit: 'effects' },
  ];
  console.log(
    `\n${RUNS} runs of ${WORK.blocks} blocks, ${tries?.all} attempts; killed ${fired.workers} workers and the server ${fired.server} times`,
  );
  const isGood = printLimits('kills', limits);
  return isGood && fired.workers > 0 && fired.server > 0;
}

async function killUntil(fleet: BenchFleet, ended: Promise<unknown>): Promise<{ workers: number; server: number }> {
  const fired = { workers: 0, server: 0 };
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  for (let turn = 1; !isOver; turn++) {
    const until = performance.now() + randomInt(1_000, 2_500);
    await Promise.race([
      over,
      eventually(
        () => performance.now(),
        (now) => now > until,
      ),
    ]);
    if (isOver) break;
    if (turn % 3 === 0) {
      await fleet.server.kill();
      await fleet.server.start();
      fired.server++;
    } else {
      await fleet.killAndStart(fleet.hosts[randomInt(fleet.hosts.length)] ?? 'a');
      fired.workers++;
    }
  }
  await over;
  return fired;
}
