import { median, printLimits, timed } from '../measure.ts';
import { type PageBench, withPage } from './rig.ts';

const JOBS = 200;
/** At work at once; the others wait for a place, and their cards are on the page as well. */
const AT_WORK = 10;
const EVENTS_A_SECOND = 200;
const MEASURED_S = 15;
const ROUNDS = 5;

/** Many jobs on the first screen, and they talk. */
export async function benchStorm(): Promise<boolean> {
  return withPage(async (bench) => {
    const { world, page, cdp } = bench;
    world.configure({ reef: { max_jobs: AT_WORK } });
    const pause = { sleep: (1_000 * AT_WORK) / EVENTS_A_SECOND };
    const talk = [{ say: 'I look at the orders, and at what else reads them.' }, pause];
    const agent = world.script('talks', [{ repeat: { times: 100_000, steps: talk } }]);
    for (let at = 1; at <= JOBS; at++) {
      await world.client.call('spawn', { agent, task: `Store the orders of shop ${at}`, sandbox: false });
    }
    await page.getByRole('heading', { name: `${AT_WORK} tasks at work` }).waitFor();
    // Processor time: what others take of this machine meanwhile is not the page's.
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const [before, firstSeq] = [await taskSeconds(bench), await lastSeq(bench)];
    const took = await timed(() => page.waitForTimeout(MEASURED_S * 1_000));
    const busy = (100_000 * ((await taskSeconds(bench)) - before)) / took;
    const rate = (1_000 * ((await lastSeq(bench)) - firstSeq)) / took;
    const cards = await page.locator('.card').count();
    return printLimits(`${cards} jobs on the first screen, ${Math.round(rate)} events a second`, [
      { what: "processor time of the page's main thread", measured: busy, most: 25, unit: '%' },
    ]);
  });
}

async function taskSeconds({ cdp }: PageBench): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}

async function lastSeq({ world }: PageBench): Promise<number> {
  const { events } = await world.client.call('events', { since: new Date().toISOString(), limit: 1, waitMs: 5_000 });
  return events[0]?.seq ?? Number.NaN;
}

/** The daemon is killed; from the moment that the next one answers until the page is live. */
export async function benchBack(): Promise<boolean> {
  return withPage(async ({ world, page, address }) => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await world.killDaemon();
      await page.getByText(/^Not connected since/).waitFor();
      const isBack = world.client.call('status', {});
      while (!(await fetch(`${address}/v1/health`).catch(() => undefined))) await page.waitForTimeout(5);
      times.push(await timed(() => page.getByText('Live', { exact: true }).waitFor()));
      await isBack;
    }
    return printLimits('The daemon was killed, and another one listens', [
      { what: 'until the page is live again, median', measured: median(times), most: 1_000, unit: 'ms' },
      { what: 'until the page is live again, longest', measured: Math.max(...times), most: 1_000, unit: 'ms' },
    ]);
  });
}
