import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually, until } from '../support/wait.ts';
import { inChromium, PATIENCE_MS, type PageRig, pageTests, untilThereIs } from './page-rig.ts';
import { traced } from './trace.ts';

/** More than a page can keep up with: a tab that stands still, very long jobs, very many jobs. */

const { rig, browser } = pageTests();

const log = (page: Page) => page.getByRole('log', { name: 'Timeline' });

/** The processes that run the pages of this browser. */
async function renderers(of: Browser): Promise<number[]> {
  const session = await of.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.flatMap(({ type, id }) => (type === 'renderer' ? [id] : []));
}

/** Connections at this address that somebody at the other end holds, as the kernel lists them. */
function heldAt(address: string): number {
  const local = `0100007F:${Number(new URL(address).port).toString(16).toUpperCase().padStart(4, '0')}`;
  const fields = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return fields.filter(([, at, , state]) => at === local && state === '01').length;
}

/** A key is pressed until these words are seen; the most rows that were in the document meanwhile. */
async function pressed(page: Page, key: string, words: string): Promise<number> {
  await log(page).focus();
  let most = 0;
  const press = async () => {
    await page.keyboard.press(key);
    most = Math.max(most, await log(page).locator('.row').count());
    return log(page).getByText(words, { exact: true }).isVisible();
  };
  await eventually(press, (isThere) => isThere, { what: words, withinMs: 2 * PATIENCE_MS });
  return most;
}

/** Every call of a tool in the timeline, as it is met on the way from the first row to the last. */
async function callsOf(page: Page): Promise<number[]> {
  const seen = new Set<number>();
  const look = async () => {
    const seqs = (await log(page)
      .locator('.row.is-tool')
      .evaluateAll((all) => all.map((row) => Number(row.getAttribute('data-seq'))))) as number[];
    expect(new Set(seqs).size).toBe(seqs.length);
    for (const seq of seqs) seen.add(seq);
  };
  await pressed(page, 'Home', 'Before.');
  await log(page).hover();
  const step = async () => {
    await look();
    await page.mouse.wheel(0, 200);
    return log(page).getByText('After.', { exact: true }).isVisible();
  };
  await eventually(step, (isThere) => isThere, { what: 'the last row', withinMs: 2 * PATIENCE_MS });
  await look();
  return [...seen].sort((a, b) => a - b);
}

inChromium('U-36', 'U-35').test(
  'a tab that stood still while an agent wrote more than a connection holds shows each event once when it goes on',
  async () => {
    const all = await rig();
    // Much to carry, and little to see.
    const call = { id: 't', name: 'fetch', tool: 'fetch', title: 'Fetch it', input: { body: 'x'.repeat(60_000) } };
    const loud = { repeat: { times: 300, steps: [{ emit: { type: 'tool_call', payload: call } }] } };
    const id = await all.spawn([{ say: 'Before.' }, untilThereIs('go'), loud, { say: 'After.' }]);
    const { page } = await all.signIn(`/jobs/${id}`);
    await log(page).getByText('Before.', { exact: true }).waitFor();
    const stopped = await renderers(browser());
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      all.touch('go');
      await all.world.until(id, ({ endedAt }) => endedAt !== undefined, PATIENCE_MS);
      await until('the door has let go of who takes nothing', () => heldAt(all.address) === 0, PATIENCE_MS);
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await page.getByText('Live', { exact: true }).waitFor();
    await log(page).getByText('After.', { exact: true }).waitFor();
    const events = await all.world.events(id);
    const wanted = events.filter(({ type }) => type === 'tool_call').map(({ seq }) => seq);
    expect(wanted.length).toBe(301); // one of them is what it waited with
    expect(await callsOf(page)).toEqual(wanted);
    expect(await page.getByText(/older events? skipped/).count()).toBe(0);
  },
  4 * PATIENCE_MS,
);

/** Of the whole page, after a collection. */
async function heapMb(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.enable');
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  return usedSize / 1_000_000;
}

async function flooded(all: PageRig, events: number): Promise<Page> {
  const id = await all.spawn([{ say: 'Before.' }, { flood: { events } }, { say: 'After.' }]);
  await all.world.until(id, ({ endedAt }) => endedAt !== undefined, 2 * PATIENCE_MS);
  const { page } = await all.signIn(`/jobs/${id}`);
  await log(page).getByText('After.', { exact: true }).waitFor();
  return page;
}

inChromium('U-32', 'U-36', 'U-43').test(
  'a job of 50,000 events is scrolled from its tail to its first event and back, with few rows, short tasks and little memory',
  async () => {
    const events = 50_000;
    const page = await flooded(await rig(), events);
    // Processor time, and no time of a clock: others use the machine as well.
    const { seen: up, task } = await traced(page, () => pressed(page, 'PageUp', `flood ${events - 200}`));
    expect(task).toBeLessThan(50);
    const first = await pressed(page, 'Home', 'Before.');
    const down = await pressed(page, 'PageDown', 'flood 200');
    await page.getByRole('button', { name: 'Newest' }).click();
    await log(page).getByText('After.', { exact: true }).waitFor();
    expect(Math.max(up, first, down)).toBeLessThan(400);
    expect(await heapMb(page)).toBeLessThan(60);
  },
  6 * PATIENCE_MS,
);

inChromium('U-36').test(
  'with 200 jobs on the first screen, some of which talk all the time, a question is answered and a timeline is live',
  async () => {
    const all = await rig();
    const { world } = all;
    world.configure({ reef: { max_jobs: 5 } });
    const { page } = await all.signIn();
    const asks = [
      { ask: { question: 'Which shelf?', options: ['upper', 'lower'], as: 'it' } },
      { say: 'The {it} one.' },
    ];
    const asking = await all.spawn([...asks, untilThereIs('never')], { task: 'Tidy the shelves' });
    await world.until(asking, ({ status }) => status === 'awaiting_input');
    const talk = [{ repeat: { times: 100_000, steps: [{ say: 'I look at the orders.' }, { sleep: 10 }] } }];
    const agent = world.script('talks', talk);
    for (let at = 1; at < 200; at++) {
      await world.client.call('spawn', { agent, task: `Store the orders of shop ${at}`, sandbox: false });
    }
    await until('a card for each job', async () => (await page.locator('.card').count()) === 200, PATIENCE_MS);
    const question = page.getByRole('group', { name: 'Which shelf?' });
    await page.locator('[data-question="open"][data-armed="true"]').and(question).waitFor();
    await question.getByRole('button', { name: 'lower' }).click();
    await page.getByRole('link', { name: 'Tidy the shelves' }).first().click();
    await log(page).getByText('The lower one.', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await page.getByRole('link', { name: 'Store the orders of shop 1', exact: true }).click();
    const newest = async () => Number(await log(page).locator('.row').last().getAttribute('data-seq'));
    const before = await eventually(newest, (seq) => seq > 0, { what: 'its rows' });
    await eventually(newest, (seq) => seq > before, { what: 'newer rows', withinMs: PATIENCE_MS });
    await page.getByText('Live', { exact: true }).waitFor();
  },
  4 * PATIENCE_MS,
);
