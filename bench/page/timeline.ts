import type { Page } from 'playwright-core';
import { traced } from '../../test/page/trace.ts';
import { median, printLimits } from '../measure.ts';
import { LAST_WORDS, longJob, type PageBench, withPage } from './rig.ts';

const EVENTS = 10_000;
const MANY_EVENTS = 50_000;
const ROUNDS = 7;
const SCROLL_MS = 10_000;
const WHEEL_PX = 1_200;
const LATE_MS = 50;

/** From the click to the frame that shows the last row. What is evaluated must not be the promise: that would be waited for. */
const WATCH_TAIL = `void (window.painted = new Promise((done) => addEventListener('click', () => {
  const begun = performance.now();
  const look = () => [...document.querySelectorAll('.row')].some((row) => row.textContent.includes('${LAST_WORDS}'))
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)))
    : requestAnimationFrame(look);
  look();
}, { capture: true, once: true })))`;

const WATCH_FRAMES = `window.seen = { longest: 0, rows: 0 };
window.stop = false;
(() => {
  let last = performance.now();
  const frame = (at) => {
    const took = at - last;
    last = at;
    seen.longest = Math.max(seen.longest, took);
    seen.rows = Math.max(seen.rows, document.querySelectorAll('.row').length);
    if (!window.stop) requestAnimationFrame(frame);
  };
  requestAnimationFrame((at) => { last = at; requestAnimationFrame(frame); });
})()`;

interface Seen {
  longest: number;
  rows: number;
}

/** A long job opens at its tail and is scrolled. */
export async function benchTimeline(): Promise<boolean> {
  return withPage(async (bench) => {
    const { page } = bench;
    await longJob(bench, EVENTS);
    const paints: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await page.getByRole('link', { name: 'Now', exact: true }).click();
      const link = page.getByRole('link', { name: 'Store the orders' });
      await link.waitFor();
      await page.evaluate(WATCH_TAIL);
      await link.click();
      paints.push(Number(await page.evaluate('window.painted')));
    }
    const { seen, task, anyTask } = await traced(page, () => scrolled(page));
    await page.goto(`${bench.address}/assets/none`);
    await page.evaluate(
      "document.body.innerHTML = '<p>One line of a page that does nothing.</p>'.repeat(5000), scrollTo(0, 1e9)",
    );
    const bare = await scrolled(page);
    return printLimits(`A job of ${EVENTS.toLocaleString('en')} events`, [
      { what: 'its tail painted, the first time', measured: paints[0] ?? Number.NaN, most: 200, unit: 'ms' },
      { what: 'its tail painted, median', measured: median(paints), most: 200, unit: 'ms' },
      { what: 'rows in the document', measured: seen.rows, most: 400, unit: 'rows' },
      {
        what: `longest frame in 10 s of scrolling (a bare page at once after it: ${Math.round(bare.longest)} ms)`,
        measured: seen.longest,
        // Where a page that does nothing is late too, a late frame says nothing of this one.
        most: bare.longest > LATE_MS ? Number.POSITIVE_INFINITY : LATE_MS,
        unit: 'ms',
      },
      { what: 'longest task of the main thread, processor time', measured: task, most: 50, unit: 'ms' },
      { what: 'longest task of any thread of the page, processor time', measured: anyTask, most: 50, unit: 'ms' },
    ]);
  });
}

async function scrolled(page: Page): Promise<Seen> {
  await page.mouse.move(640, 450);
  await page.evaluate(WATCH_FRAMES);
  const end = Date.now() + SCROLL_MS;
  while (Date.now() < end) {
    await page.mouse.wheel(0, -WHEEL_PX);
    await page.waitForTimeout(16);
  }
  await page.evaluate('window.stop = true');
  return (await page.evaluate('window.seen')) as Seen;
}

/** All of a very long job was read, and what it keeps is counted after a collection. */
export async function benchMemory(): Promise<boolean> {
  return withPage(async (bench) => {
    const { page, cdp, address } = bench;
    const id = await longJob(bench, MANY_EVENTS);
    await page.goto(`${address}/jobs/${id}`);
    await page.getByText(LAST_WORDS).waitFor();
    const { task } = await traced(page, () => readToTheFirst(page));
    const { task: scrolling, seen } = await traced(page, () => scrolled(page));
    await cdp.send('HeapProfiler.enable');
    const after = await heapMb(bench);
    return printLimits(`A job of ${MANY_EVENTS.toLocaleString('en')} events`, [
      { what: 'heap of the whole page', measured: after, most: 60, unit: 'MB' },
      { what: 'longest task while all of it was read, processor time', measured: task, most: 50, unit: 'ms' },
      { what: 'longest task in 10 s of scrolling, processor time', measured: scrolling, most: 50, unit: 'ms' },
      { what: 'rows in the document', measured: seen.rows, most: 400, unit: 'rows' },
    ]);
  });
}

/** Its plot is of all turns, so the first event is read. */
async function readToTheFirst(page: Page): Promise<void> {
  let reads = 0;
  const count = (request: { url(): string }) => {
    if (request.url().endsWith('/v1/op/output')) reads++;
  };
  page.on('request', count);
  await page.getByRole('tab', { name: 'Tokens' }).click();
  for (let last = -1; last !== reads; ) {
    last = reads;
    await page.waitForTimeout(3_000);
  }
  page.off('request', count);
  await page.getByRole('tab', { name: 'Timeline' }).click();
  await page.getByText(LAST_WORDS).waitFor();
}

async function heapMb({ cdp }: PageBench): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  return usedSize / 1_000_000;
}
