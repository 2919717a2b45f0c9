import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests, untilThereIs } from './page-rig.ts';

/** Questions of real agents, answered where they are shown. */

const { rig } = pageTests();

const DATABASE = { ask: { question: 'Which database should I use?', options: ['SQLite', 'Postgres'], as: 'db' } };

const question = (page: Page, name: string) => page.getByRole('group', { name });

/** Until half a second is over in which nobody can have read it. */
const readable = (page: Page, name: string) =>
  page.locator('[data-question="open"][data-armed="true"]').and(question(page, name)).waitFor();

async function lastWords({ world }: PageRig, id: string): Promise<string | undefined> {
  const job = await world.until(id, ({ status }) => status === 'completed' || status === 'paused');
  return job.lastOutput.trim();
}

const sends = (page: Page) => {
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/op/send')) sent.push(request.postData() ?? '');
  });
  return sent;
};

/** Where somebody looks for what became of a question. */
const outcome = (card: Locator, said: RegExp) => card.getByRole('status').getByText(said).waitFor();

inChromium('U-30', 'U-36').test(
  'a question is answered by a button, by text and by a key, and leaves when the agent has it',
  async () => {
    const all = await rig();
    const { page } = await all.signIn();
    await page.getByRole('heading', { name: 'Nothing is at work' }).waitFor();
    const id = await all.spawn([
      DATABASE,
      { ask: { question: 'What is the table called?', as: 'table' } },
      { permit: { tool: 'shell', input: { command: ['touch', 'approved.txt'] }, as: 'leave', steps: [] } },
      { say: 'Took {db}, {table}, {leave}.' },
    ]);
    await readable(page, 'Which database should I use?');
    await question(page, 'Which database should I use?').getByRole('button', { name: 'Postgres' }).click();

    await readable(page, 'What is the table called?');
    await question(page, 'What is the table called?').getByRole('textbox').fill('orders');
    await page.getByRole('button', { name: 'Answer' }).click();

    const permission = page.getByRole('group').filter({ hasText: 'touch approved.txt' });
    await page.locator('[data-question="open"][data-armed="true"]').and(permission).waitFor();
    await page.keyboard.press('q');
    await page.keyboard.press('y');
    await outcome(permission, /You allowed it once/);
    expect(await lastWords(all, id)).toBe('Took Postgres, orders, allow.');
    await permission.waitFor({ state: 'detached' });
    await page.getByText('Took Postgres, orders, allow.').waitFor();
  },
);

inChromium('U-30', 'U-36').test(
  'a question that was answered at a terminal says so and cannot be answered again',
  async () => {
    const all = await rig();
    const { page } = await all.signIn();
    const sent = sends(page);
    const id = await all.spawn([DATABASE, untilThereIs('go'), { say: 'Took {db}.' }]);
    await readable(page, 'Which database should I use?');
    const card = question(page, 'Which database should I use?');
    await card.hover(); // it stays under the pointer
    await all.world.client.call('send', { id, option: ['SQLite'] });
    await outcome(card, /Answered by you, elsewhere: SQLite/);
    expect(await card.getByRole('button').count()).toBe(0);
    all.touch('go');
    expect([await lastWords(all, id), sent]).toEqual(['Took SQLite.', []]);
  },
);

inChromium('U-36').test('an answer to a question that changed meanwhile reaches nobody', async () => {
  const all = await rig();
  const { page } = await all.signIn();
  const id = await all.spawn([
    { ask: { question: 'Delete the old table?', options: ['Yes', 'No'], wait: false } },
    untilThereIs('changed'),
    'withdraw',
    { ask: { question: 'Delete every table?', options: ['Yes', 'No'], as: 'all' } },
    { say: 'Took {all}.' },
  ]);
  await page.route('**/v1/op/send', async (route) => {
    all.touch('changed');
    await until('the agent asks something else', async () => {
      const { questions } = await all.world.client.call('inbox', {});
      return questions.some((one) => one.question === 'Delete every table?');
    });
    await route.continue();
  });
  await readable(page, 'Delete the old table?');
  const refused = page.waitForResponse('**/v1/op/send');
  await question(page, 'Delete the old table?').getByRole('button', { name: 'Yes' }).click();
  expect((await refused).status()).toBe(409);
  await question(page, 'Delete every table?').waitFor();
  const events = await all.world.events(id);
  expect(events.filter(({ type, payload }) => type === 'input_sent' && 'questionId' in payload)).toEqual([]);
  expect((await all.world.job(id)).questions.map((one) => one.question)).toEqual(['Delete every table?']);
});

/** Clicks what appears in the very moment, as somebody does who was about to click something else. */
const CLICK_AT_ONCE = `new MutationObserver(() => {
  for (const button of document.querySelectorAll('[data-question="open"][data-armed="false"] .options button')) {
    window.clickedAtOnce = (window.clickedAtOnce ?? 0) + 1;
    button.click();
    button.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }));
  }
}).observe(document.body, { childList: true, subtree: true })`;

inChromium('U-36', 'U-38').test('a click or key within half a second of a question does nothing', async () => {
  const all = await rig();
  const { page } = await all.signIn();
  const sent = sends(page);
  await page.evaluate(CLICK_AT_ONCE);
  const id = await all.spawn([DATABASE, { say: 'Took {db}.' }]);
  await readable(page, 'Which database should I use?');
  expect(await page.evaluate('window.clickedAtOnce')).toBeGreaterThan(0);
  expect([sent, (await all.world.job(id)).questions.length]).toEqual([[], 1]);
  await question(page, 'Which database should I use?').getByRole('button', { name: 'Postgres' }).click();
  expect([await lastWords(all, id), sent.length]).toEqual(['Took Postgres.', 1]);
});

inChromium('U-36').test(
  'of two tabs that answer the same question one is heard, and the other says who was faster',
  async () => {
    const all = await rig();
    const [first, second] = [await all.signIn(), await all.signIn()];
    const id = await all.spawn([DATABASE, untilThereIs('go'), { say: 'Took {db}.' }]);
    const name = 'Which database should I use?';
    for (const { page } of [first, second]) {
      await readable(page, name);
      await page.getByRole('group', { name }).hover();
    }
    // Both requests are on their way before the first arrives.
    const held = Promise.withResolvers<void>();
    await second.page.route('**/v1/op/send', async (route) => {
      await held.promise;
      await route.continue();
    });
    const late = second.page.waitForRequest('**/v1/op/send');
    await question(second.page, name).getByRole('button', { name: 'SQLite' }).click();
    await late;
    await question(first.page, name).getByRole('button', { name: 'Postgres' }).click();
    await outcome(question(first.page, name), /You answered: Postgres/);
    held.resolve();
    await outcome(question(second.page, name), /Postgres/);
    all.touch('go');
    expect(await lastWords(all, id)).toBe('Took Postgres.');
    const answers = (await all.world.events(id)).filter(
      ({ type, payload }) => type === 'input_sent' && 'questionId' in payload,
    );
    expect(answers.length).toBe(1);
  },
);
