import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { eventually, until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests, untilThereIs } from './page-rig.ts';

/** The screen of one job: what an agent did, live, and the ways to talk to it. */

const { rig } = pageTests();

async function openJob({ signIn }: PageRig, id: string): Promise<Page> {
  const { page } = await signIn(`/jobs/${id}`);
  await page.getByRole('log', { name: 'Timeline' }).waitFor();
  return page;
}

const timeline = (page: Page) => page.getByRole('log', { name: 'Timeline' });

inChromium('U-32').test(
  'a job is shown as it goes: words, commands with exit codes, edits as diffs, its end',
  async () => {
    const all = await rig();
    const id = await all.spawn([
      { think: 'Where are the orders?' },
      { say: 'I begin with the **table**.' },
      { edit: { path: 'orders.sql', content: 'create table orders (id int);\n' } },
      untilThereIs('go'),
      { shell: ['sh', '-c', 'echo no such table; exit 3'] },
      { usage: { input: 1_200, output: 300, costUsd: 0.02 } },
      { say: 'It is **there**.' },
    ]);
    const page = await openJob(all, id);
    const log = timeline(page);
    await log.getByText('Where are the orders?').waitFor();
    await log.locator('strong', { hasText: 'table' }).waitFor();
    await log.getByRole('region', { name: 'Added' }).getByText('+create table orders (id int);').waitFor();
    all.touch('go');
    const command = log.getByRole('region', { name: /no such table/ });
    await command.getByText('exit 3', { exact: true }).waitFor();
    await command.locator('pre').getByText('no such table').waitFor();
    await log.locator('strong', { hasText: 'there' }).waitFor();
    await log.getByText(/^Ended: /).waitFor();
    await page.getByText('1.5k tokens').waitFor();
    await page.getByText('$0.02').waitFor();
    await page.getByRole('tab', { name: 'Tokens' }).click();
    await page
      .getByRole('img', { name: 'Tokens of each turn' })
      .getByText(/Turn 1: Written 300, Read 1.2k/)
      .waitFor({ state: 'attached' });
    await page.getByRole('tab', { name: 'Raw log' }).click();
    await page.getByRole('region', { name: 'Raw log' }).getByText('"no such table').waitFor();
  },
);

inChromium('U-32').test(
  'a message reaches the agent, its turn can be interrupted, and it goes on when told so',
  async () => {
    const all = await rig();
    const id = await all.spawn(
      {
        steps: [{ say: 'Working.' }, { sleep: 600_000 }],
        onMessage: [{ say: 'Heard: {message}' }],
        onResume: [{ say: 'Again: {message}' }],
      },
      { keep: true },
    );
    const page = await openJob(all, id);
    await timeline(page).getByText('Working.').waitFor();
    await page.getByRole('button', { name: 'Interrupt' }).click();
    await all.world.until(id, ({ status }) => status === 'paused');
    const words = page.getByRole('textbox', { name: 'What it should do next' });
    await words.fill('use one index');
    await page.getByRole('button', { name: 'Resume' }).click();
    await timeline(page)
      .getByText(/(Heard|Again): use one index/)
      .waitFor();
    await until('what was sent has left the field', async () => (await page.getByRole('textbox').inputValue()) === '');
    await page.getByRole('button', { name: 'Kill' }).click();
    await page.getByRole('button', { name: 'Kill it for good?' }).click();
    expect((await all.world.until(id, ({ endedAt }) => endedAt !== undefined)).status).toBe('killed');
    await page.getByText('Killed', { exact: true }).waitFor();
  },
);

inChromium('U-32', 'U-43').test(
  'a long job opens at its tail, keeps few rows in the document and reads back to its first event',
  async () => {
    const all = await rig();
    const id = await all.spawn([
      { say: 'The very first words.' },
      { flood: { events: 10_000 } },
      { say: 'The last words.' },
    ]);
    await all.world.until(id, ({ status }) => status === 'completed');
    const page = await openJob(all, id);
    const log = timeline(page);
    await log.getByText('The last words.').waitFor();
    expect(await log.locator('.row').count()).toBeLessThan(400);
    await log.focus();
    await eventually(
      async () => {
        await page.keyboard.press('Home');
        return log.getByText('The very first words.').isVisible();
      },
      (isThere) => isThere,
      { what: 'the first words' },
    );
    expect(await log.locator('.row').count()).toBeLessThan(400);
    await page.getByRole('button', { name: 'Newest' }).click();
    await log.getByText('The last words.').waitFor();
  },
);

inChromium('U-32').test('an id that is no job says so', async () => {
  const all = await rig();
  const { page } = await all.signIn('/jobs/01K00000000000000000000000');
  await page.getByRole('heading', { name: 'No such job' }).waitFor();
  await page.getByRole('alert').waitFor();
});
