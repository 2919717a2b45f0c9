import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../support/wait.ts';
import { inChromium, pageTests, untilThereIs } from './page-rig.ts';

/** The page without a mouse, and what it tells somebody who looks elsewhere. */

const { rig } = pageTests();

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();
const permission = (name: string) => ({ permit: { tool: 'shell', input: { command: ['touch', name] }, steps: [] } });
const focused = (page: Page) => page.evaluate('document.activeElement?.textContent ?? ""');

inChromium('U-38', 'U-35').test(
  'every screen, list and question is reached by keys, which decide only inside a question and can be switched off',
  async () => {
    const all = await rig();
    const { page } = await all.signIn();
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/op/send')) sent.push(request.postData() ?? '');
    });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const first = await all.spawn([permission('first.txt'), untilThereIs('go'), { say: 'Done.' }]);
    await all.world.until(first, ({ status }) => status === 'awaiting_input');
    const second = await all.spawn([permission('second.txt'), { say: 'Done.' }]);
    const open = (command: string) =>
      page.locator('[data-question="open"][data-armed="true"]').filter({ hasText: command });
    await open('touch first.txt').waitFor();
    await open('touch second.txt').waitFor();

    // Nobody is in a question: the keys that decide decide nothing.
    await press('y', 's', 'd');
    await press('g', 'r');
    await heading(page, 'Runs');
    await press('g', 'u');
    await heading(page, 'Usage');
    await press('Control+k');
    await page.getByRole('combobox', { name: 'Find' }).fill('code');
    await press('Enter');
    await heading(page, 'Code');
    await press('/');
    await page.keyboard.type('g n?q');
    expect(await page.getByRole('searchbox').inputValue()).toBe('g n?q');
    await page.getByRole('searchbox').blur();
    await press('g', 'n');
    await heading(page, '2 questions for you');
    await press('?');
    await page.getByRole('dialog', { name: 'Keys and settings' }).waitFor();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await press('q', 'q');
    await until('the second question has the focus', async () => String(await focused(page)).includes('second.txt'));
    await open('touch second.txt').waitFor();
    expect(sent).toEqual([]);
    await press('d');
    await all.world.until(second, ({ questions }) => questions.length === 0);
    await press('q');
    await until('the first question has the focus', async () => String(await focused(page)).includes('first.txt'));
    await press('y');
    await all.world.until(first, ({ questions }) => questions.length === 0);
    expect(sent.map((body) => JSON.parse(body).decision)).toEqual(['deny', 'allow_once']);

    await until('no question is left', async () => (await page.locator('[data-question]').count()) === 0);
    await press('j', 'j', 'k', 'Enter');
    await page.getByRole('log', { name: 'Timeline' }).waitFor();

    await press('?');
    await page.getByLabel('Keys without Ctrl').uncheck();
    await press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await press('g', 'u', 'Control+k');
    await page.getByRole('combobox', { name: 'Find' }).waitFor();
    await press('Escape');
    await page.getByRole('log', { name: 'Timeline' }).waitFor();
  },
);

/** A browser without a screen refuses all notifications, so what would be shown is noted in its place. */
const NOTES = `
  window.told = [];
  window.Notification = class {
    static permission = 'default';
    static async requestPermission() {
      return (this.permission = 'granted');
    }
    constructor(title, options) {
      window.told.push(title + ' | ' + options.body);
    }
  };
  Object.defineProperty(document, 'hidden', { get: () => window.isAway === true });
`;

inChromium('U-42', 'U-39').test(
  'the browser tells of questions and ends while one looks elsewhere, if one wants it to',
  async () => {
    const all = await rig();
    const { page } = await all.blank();
    await page.addInitScript(NOTES);
    const { address, code } = await all.world.client.door({ do: 'login' });
    await page.goto(`${address}/#code=${code}`);
    await page.getByText('Live', { exact: true }).waitFor();
    const told = () => page.evaluate('window.told') as Promise<string[]>;
    const asks = (question: string) => all.spawn([{ ask: { question, options: ['Yes', 'No'] } }, { say: 'Done.' }]);
    const spoken = (words: string | RegExp) => page.locator('[aria-live="polite"]').getByText(words).waitFor();

    // It is not asked for: only those who listen to the page hear of it.
    await page.evaluate('window.isAway = true');
    await asks('Is it quiet?');
    await spoken(/Is it quiet\?/);
    await page.keyboard.press('?');
    await page.getByLabel('Notifications').check();
    await page.keyboard.press('Escape');
    const id = await asks('Is it \u202eheard?');
    await until('the question is told', async () => (await told()).some((words) => words.includes('heard?')));
    await all.world.client.call('send', { id, option: [1] });
    await until('the end is told', async () => (await told()).some((words) => words.includes('has ended')));
    // Whoever looks at the page sees it there.
    await page.evaluate('window.isAway = false');
    await asks('Is it seen?');
    await spoken(/Is it seen\?/);
    const notes = await told();
    expect(notes.map((words) => words.replace(/^\S*scripted:\S+/, 'agent'))).toEqual([
      'agent asks | Is it ⟨U+202E⟩heard?',
      'agent has ended: done | Store the orders',
    ]);
  },
);
