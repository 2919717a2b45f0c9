import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { inChromium, pageTests } from './page-rig.ts';

/** Questions about code, asked on the page of the real analysis server. */

const { rig } = pageTests();

const HOSTILE = '<img src="http://203.0.113.9/x.png">';

inChromium('U-37').test(
  'code is searched in the worktree that is chosen: questions, names and their uses, each with file, lines and reason',
  async () => {
    const { world, signIn } = await rig();
    const { client } = world;
    const made = await client.call('worktree_create', { title: 'rounding', plan: ['price.js'] });
    const write = (name: string, text: string) => writeFileSync(join(made.path ?? '', name), text);
    write('price.js', `// ${HOSTILE}\nexport function roundPrice(value) {\n  return Math.round(value);\n}\n`);
    write('cart.js', "import { roundPrice } from './price.js';\n\nexport const total = (n) => roundPrice(n);\n");

    const { page } = await signIn('/code');
    await page.getByRole('heading', { name: 'Nothing is asked yet' }).waitFor();
    const found = page.getByRole('region', { name: 'Found' });
    const piece = (place: RegExp) => found.getByRole('group').filter({ hasText: place });
    await page.getByLabel('In', { exact: true }).selectOption('rounding');
    await page.keyboard.press('Escape');
    await page.getByRole('searchbox').fill('where are prices rounded?');
    await page.getByRole('button', { name: 'Search' }).click();
    await piece(/^price\.js:\d+–\d+/)
      .getByText('return Math.round(value);')
      .first()
      .waitFor();
    expect(await found.locator('img').count()).toBe(0);

    await page.getByRole('searchbox').fill('roundPrice');
    await page.getByLabel('Look for').selectOption('Uses of a name');
    await piece(/^cart\.js:3.*call, certain/)
      .getByText('export const total')
      .waitFor();

    await page.getByLabel('Look for').selectOption('Definitions of a name');
    const definition = piece(/^price\.js:2–4.*function roundPrice/);
    await definition.locator('summary').click();
    await definition.getByText('return Math.round(value);').waitFor();

    // The address is the question: another tab that opens it gets the same answer, with the words as text.
    await page.getByRole('searchbox').fill('"203.0.113.9"');
    await page.getByLabel('Look for').selectOption('Words in the text');
    await piece(/^price\.js:1/)
      .getByText(HOSTILE)
      .waitFor();
    const { pathname, search } = new URL(page.url());
    const second = await signIn(`${pathname}${search}`);
    await second.page.getByText(HOSTILE).waitFor();

    await page.getByLabel('In', { exact: true }).selectOption('Main checkout');
    await found.getByText('Nothing of that is there.').waitFor();
  },
);
