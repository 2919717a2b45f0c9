import { expect } from 'vitest';
import { inChromium, pageTests } from './page-rig.ts';

/** What all jobs have used, as plots and as tables. */

const { rig } = pageTests();

const USED = { input: 1_000, output: 200, cacheRead: 50 };

inChromium('U-34').test(
  'tokens and cost are plotted by agent, model, day and run, with their tables, and an unknown cost is said',
  async () => {
    const { world, signIn } = await rig();
    const { page } = await signIn('/usage');
    await page.getByRole('heading', { name: 'No job has run yet' }).waitFor();

    const dear = world.script('dear', [{ usage: { ...USED, costUsd: 0.5 } }, { say: 'hi' }]);
    const silent = world.script('silent', [{ usage: USED }, { say: 'hi' }]);
    const spawned = [[dear, 'big'], [dear], [silent, 'small']] as const;
    for (const [agent, model] of spawned) {
      const { agentId } = await world.client.call('spawn', { agent, task: 'count', ...(model && { model }) });
      await world.until(agentId, ({ status }) => status === 'completed');
    }
    // It follows what happens: nobody has to load it again.
    await page.getByText('1 of 3 jobs reports no cost.').waitFor();
    expect(await page.locator('.totals dd').allTextContents()).toEqual(['3', '3.8k', '≥ $1.00']);

    const table = page.getByRole('region', { name: 'The same as a table' });
    const rows = async () => {
      const cells = await table.locator('tbody tr').all();
      return Promise.all(cells.map(async (row) => (await row.locator('th, td').allTextContents()).slice(1)));
    };
    const bars = (name: string) => page.getByRole('list', { name }).getByRole('listitem').allInnerTexts();
    const amounts = (texts: string[]) => texts.map((text) => text.split('\n').at(-1)?.trim());
    expect(await rows()).toEqual([
      ['2', '400', '2,000', '100', '$1.00'],
      ['1', '200', '1,000', '50', 'unknown'],
    ]);
    expect(amounts(await bars('Tokens by agent'))).toEqual(['2.5k', '1.3k']);
    expect(amounts(await bars('Cost by agent'))).toEqual(['$1.00', 'unknown']);
    // The second bar is half as long as the first.
    const widths = await page
      .getByRole('list', { name: 'Tokens by agent' })
      .locator('li')
      .evaluateAll((items) =>
        items.map((item) =>
          [...item.querySelectorAll('rect')].reduce((sum, { width }) => sum + width.baseVal.value, 0),
        ),
      );
    expect(widths.map(Math.round)).toEqual([100, 50]);

    await page.getByRole('tab', { name: 'By model' }).click();
    await table.getByRole('rowheader', { name: 'a model that nobody named' }).waitFor();
    expect((await table.getByRole('rowheader').allTextContents()).sort()).toEqual([
      'a model that nobody named',
      'big',
      'small',
    ]);

    await page.getByRole('tab', { name: 'By day' }).click();
    await page.getByRole('img', { name: 'Tokens by day' }).waitFor();
    await page
      .getByRole('img', { name: 'Cost by day' })
      .getByText(/^\d{4}-\d\d-\d\d: ≥ \$1\.00$/)
      .waitFor({ state: 'attached' });

    await page.getByRole('tab', { name: 'By run' }).click();
    await table.getByRole('rowheader', { name: 'jobs of no run' }).waitFor();
    expect(await rows()).toEqual([['3', '600', '3,000', '150', '≥ $1.00']]);
    await page.getByLabel('Jobs that were started').selectOption('Of the last 24 hours');
    await table.getByRole('rowheader', { name: 'jobs of no run' }).waitFor();
  },
);
