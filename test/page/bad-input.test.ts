import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests } from './page-rig.ts';

/** What goes wrong is said where it happens, and nothing that somebody typed is lost. */

const { rig } = pageTests();

const task = (page: Page) => page.getByRole('textbox', { name: 'What should be done' });
const start = (page: Page) => page.getByRole('button', { name: 'Start' }).click();

async function written(words: string): Promise<PageRig & { page: Page }> {
  const all = await rig();
  const { page } = await all.signIn('/new');
  await task(page).fill(words);
  return { ...all, page };
}

inChromium('U-35', 'X-02', 'X-03').test(
  'a task that is too long is refused and stays, a log-in that is taken back says so, and the same tab goes on with both',
  async () => {
    const { page, world } = await written('x'.repeat(1_100_000));
    await start(page);
    await page.getByRole('alert').getByText(/1 MiB/).waitFor();
    expect((await task(page).inputValue()).length).toBe(1_100_000);

    await task(page).fill('Store the orders');
    await world.client.door({ do: 'rotate' });
    await page.getByRole('heading', { name: 'Signed out' }).waitFor();
    await page.getByText('reef open').waitFor();
    const { code } = await world.client.door({ do: 'login' });
    await page.evaluate(`location.hash = 'code=${code}'`);
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await task(page).inputValue()).toBe('Store the orders');
  },
);

inChromium('U-35').test('a clock that jumps by a year disturbs nothing', async () => {
  const { page, world } = await written('Store the orders');
  await page.getByText('One agent').click();
  await page
    .getByRole('combobox', { name: 'Agent' })
    .or(page.getByLabel('Agent', { exact: true }))
    .first()
    .fill(world.script('one', [{ ask: { question: 'Which shelf?', options: ['upper', 'lower'] } }, { say: 'Done.' }]));
  for (const days of [400, -400]) {
    await page.evaluate(`{ const now = Date.now; Date.now = () => now() + ${days} * 86_400_000; }`);
    await page.getByText('Live', { exact: true }).waitFor();
  }
  await page.evaluate('{ const now = Date.now; Date.now = () => now() + 400 * 86_400_000; }');
  await start(page);
  const question = page.getByRole('group', { name: 'Which shelf?' });
  await page.locator('[data-question="open"][data-armed="true"]').and(question).waitFor();
  await question.getByRole('button', { name: 'lower' }).click();
  await until('the answer has reached the agent', async () => {
    const { jobs } = await world.client.call('status', {});
    return jobs.some(({ lastOutput }) => lastOutput === 'Done.');
  });
});
