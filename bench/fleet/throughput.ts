import { printRows, type Row } from '../measure.ts';
import { BenchFleet } from './rig.ts';

const SLOTS = 2;
const ROUNDS = 4;
const WORK = { blocks: 3, ms: 500 };

/** Workers whose blocks wait, as agents do for their model: how much more do so many of them get done? */
export async function benchThroughput(): Promise<boolean> {
  await using fleet = await BenchFleet.open();
  const rates: { workers: number; perSecond: number }[] = [];
  for (const workers of [1, 2, 4, 8]) {
    for (let n = fleet.hosts.length; n < workers; n++) await fleet.start(`h${n}`, { slots: SLOTS });
    const runs = workers * SLOTS * ROUNDS;
    const begun = performance.now();
    await fleet.queue(runs, WORK);
    await fleet.drained(120_000);
    rates.push({ workers, perSecond: (1_000 * runs) / (performance.now() - begun) });
  }
  const one = rates[0]?.perSecond ?? 0;
  const rows: Row[] = rates.slice(1).map(({ workers, perSecond }) => ({
    what: `runs a second, ${workers} workers · ${workers} × one worker`,
    ours: perSecond,
    theirs: workers * one,
    unit: '/s',
    target: { least: 0.8 },
  }));
  const sql = 'SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()';
  const [row] = await fleet.database.query<{ n: number }>(sql);
  console.log(`\n${fleet.hosts.length} workers hold ${row?.n} connections`);
  return printRows('throughput', rows);
}
