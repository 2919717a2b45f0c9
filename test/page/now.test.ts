import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { inChromium, pageTests, untilThereIs } from './page-rig.ts';
import { weightOf } from './weight.ts';

/** The first screen: what needs a person, what works, what waits and what has ended. */

const { rig } = pageTests();

const group = (page: Page, title: string) => page.getByRole('region', { name: new RegExp(`^${title}\\b`) });
const names = async (page: Page) => {
  const texts = await group(page, 'Questions').locator('[data-question]').allInnerTexts();
  return texts.map((text) => /Is it \w+\?/.exec(text)?.[0]);
};

inChromium('U-30').test(
  'work is grouped by whom it waits for, with what a glance wants to know, and questions keep their order',
  async () => {
    const all = await rig();
    const { page } = await all.signIn();
    const asks = (question: string) => [
      { ask: { question, options: ['Yes', 'No'], as: 'said' } },
      { say: 'Took {said}.' },
    ];
    const ended = await all.spawn([{ usage: { input: 900, output: 100 } }, { say: 'All is tidy.' }], {
      task: 'Tidy up',
    });
    await all.world.until(ended, ({ status }) => status === 'completed');
    const working = [
      { say: 'I look at the prices.' },
      { usage: { input: 1_200, output: 300, costUsd: 0.02 } },
      untilThereIs('go'),
    ];
    await all.spawn(working, { task: 'Round prices', worktree: 'prices', plan: ['price.js'] });
    await group(page, 'Working').getByText('until [ -e go ]').waitFor();
    await all.spawn([{ say: 'Mine.' }], { task: 'Rename prices', worktree: 'rename', plan: ['price.js'] });
    const first = await all.spawn(asks('Is it first?'), { task: 'Ask first' });
    await all.world.until(first, ({ status }) => status === 'awaiting_input');
    const second = await all.spawn(asks('Is it second?'), { task: 'Ask second' });
    await page.getByRole('heading', { name: '2 questions for you' }).waitFor();

    const card = (title: string, task: string) =>
      group(page, title)
        .getByRole('article')
        .filter({ has: page.getByRole('link', { name: task }) });
    await card('Needs you', 'Ask first').waitFor();
    await card('Working', 'Round prices').getByText('$0.02').waitFor();
    await card('Working', 'Round prices').getByText('1.5k tokens').waitFor();
    await card('Waiting', 'Rename prices').getByText('waits for prices').waitFor();
    await card('Ended', 'Tidy up').getByText('All is tidy.').waitFor();
    await card('Ended', 'Tidy up').getByText('cost unknown').waitFor();
    expect(await names(page)).toEqual(['Is it first?', 'Is it second?']);

    // Whoever is about to click finds each question where it was, also when the one above is answered elsewhere.
    const below = page.getByRole('group', { name: 'Is it second?' });
    await below.hover();
    const before = await below.boundingBox();
    await all.world.client.call('send', { id: first, option: ['Yes'] });
    await page
      .getByRole('group', { name: 'Is it first?' })
      .getByText(/elsewhere: Yes/)
      .waitFor();
    expect([await names(page), await below.boundingBox()]).toEqual([['Is it first?', 'Is it second?'], before]);
    await page.locator('[data-question="open"][data-armed="true"]').and(below).waitFor();
    await below.getByRole('button', { name: 'No' }).click();
    await all.world.until(second, ({ status }) => status === 'completed');
    await page.getByRole('link', { name: 'Tidy up' }).hover();
    await below.waitFor({ state: 'detached' });
  },
);

/** Everything that somebody's page would take for something else than words. */
const HOSTILE = [
  '# Hello <script>window.owned = 1</script><img src="https://203.0.113.9/a.png" onerror="window.owned = 2">',
  '[click](javascript:window.owned=3) ![remote](https://203.0.113.9/b.png) <iframe src="https://203.0.113.9/"></iframe>',
  '<style>body { background: url(https://203.0.113.9/c.png) }</style> <a href="data:text/html,x">data</a>',
  '\u001b[31mred\u001b[0m \u001b]8;;https://203.0.113.9/\u0007link\u001b]8;;\u0007 abc\u202edef\u2066',
].join('\n\n');

inChromium('U-36').test('what an agent writes is text: nothing of it is run, loaded or turned around', async () => {
  const all = await rig();
  const id = await all.spawn([
    { say: HOSTILE },
    { edit: { path: 'a.html', content: HOSTILE } },
    { ask: { question: HOSTILE, options: [HOSTILE.slice(0, 90)] } },
  ]);
  await all.world.until(id, ({ status }) => status === 'awaiting_input');
  const { page } = await all.signIn(`/jobs/${id}`);
  await page.getByRole('log', { name: 'Timeline' }).getByText('⟨U+202E⟩').first().waitFor();
  await page.locator('[data-question="open"]').waitFor();
  const shown = `({
    owned: window.owned ?? null,
    tags: document.querySelectorAll('main :is(img, iframe, script, style, object)').length,
    links: [...document.querySelectorAll('main a')].map(({ protocol }) => protocol).filter((one) => !/^https?:$/.test(one)),
    raw: /[\\u001b\\u202e\\u2066]/.test(document.body.innerText),
  })`;
  expect(await page.evaluate(shown)).toEqual({ owned: null, tags: 0, links: [], raw: false });
  // That no other server was asked and no policy broken is looked at after every test.
});

inChromium('U-36', 'U-43').test(
  'the first screen is 60 kB in 5 requests at most, and all of the page 150 kB',
  async () => {
    const { signIn } = await rig();
    const { page } = await signIn();
    await page.getByRole('heading', { name: 'Nothing is at work' }).waitFor();
    const { requests, loaded, whole } = await weightOf(page);
    expect(requests).toBeLessThanOrEqual(5);
    expect(loaded).toBeLessThanOrEqual(60_000);
    expect(whole).toBeLessThanOrEqual(150_000);
  },
);
