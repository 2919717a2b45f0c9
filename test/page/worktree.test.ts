import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { until } from '../support/wait.ts';
import { enter } from './enter.ts';
import { inChromium, pageTests, untilThereIs } from './page-rig.ts';
import { ADDS, begun, makeProject, SUBTRACTS, worked, writes } from './project-rig.ts';

/** The screens of worktrees: what agents changed, looked at, commented on, judged and merged. */

const { rig } = pageTests();

const accept = (page: Page) => page.getByRole('button', { name: 'Accept into main' });
const isOff = async (page: Page) => (await accept(page).getAttribute('aria-disabled')) === 'true';
const comment = (page: Page, text: string) =>
  page.getByRole('textbox', { name: 'Comment on line 1 of sum.mjs' }).fill(text);

inChromium('U-33', 'U-36').test(
  'a worktree is looked at, its review reaches the agent, stale gates switch accept off, and accept merges',
  async () => {
    const all = await makeProject(await rig());
    const go = join(all.world.root, 'go');
    const { id, path } = await worked(all, 'sum', {
      steps: writes('sum.mjs', SUBTRACTS),
      onMessage: [{ say: 'I heard: {message}' }, untilThereIs(go), { edit: { path: 'sum.mjs', content: ADDS } }],
    });
    const { page } = await all.signIn('/worktrees');
    await page.getByText('1 file changed').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'sum', exact: true }).waitFor();
    const changes = page.getByRole('region', { name: 'Changes', exact: true }).last();
    await changes.getByText('export const sum = (a, b) => a - b;').waitFor();
    await page.getByText('Not to be merged yet: test has not judged these very files').waitFor();
    expect(await isOff(page)).toBe(true);

    await page.getByRole('button', { name: 'Side by side' }).click();
    await page.getByRole('button', { name: 'Comment on added line 1 of sum.mjs' }).click();
    await comment(page, 'It has to add.');
    await page.getByRole('textbox', { name: 'About all of it' }).fill('Otherwise fine.');
    await page.getByRole('button', { name: 'Send review: 1 comment' }).click();
    await page.getByText('The agent goes on with it').waitFor();
    await page.getByText('At work', { exact: true }).waitFor();
    writeFileSync(go, '');
    await all.world.until(id, ({ turns, activity }) => turns >= 2 && activity === 'idle');
    const said = JSON.stringify(await all.world.events(id));
    expect(said).toContain('sum.mjs, line 1:');
    expect(said).toContain('It has to add.');
    expect(said).toContain('Otherwise fine.');

    await changes.getByText('export const sum = (a, b) => a + b;').waitFor();
    await page.getByRole('button', { name: 'Run the gates' }).click();
    await page.getByText('test passed').waitFor();
    await until('accept is on', async () => !(await isOff(page)));

    // Somebody writes after the gates: they have judged other files.
    writeFileSync(join(path, 'later.txt'), 'not judged\n');
    const show = page.getByRole('button', { name: 'Show the present ones' });
    await until('the page has heard of it', async () => {
      await all.world.client.call('conflicts', {});
      return show.isVisible();
    });
    await show.click();
    await page.getByText('of other files, tree').waitFor();
    expect(await isOff(page)).toBe(true);
    await page.getByRole('button', { name: 'Run the gates' }).click();
    await until('accept is on again', async () => !(await isOff(page)));
    await accept(page).click();
    await page.getByText('Merged', { exact: true }).waitFor();
    expect(all.git('show', 'main:sum.mjs')).toBe(ADDS.trim());
    expect(all.git('show', 'main:later.txt')).toBe('not judged');
  },
);

inChromium('U-33', 'U-36').test(
  'a review of a file that changed meanwhile is refused and kept; moved to the present line it arrives, once',
  async () => {
    const all = await makeProject(await rig());
    const { id, worktree, path } = await worked(all, 'sum', {
      steps: writes('sum.mjs', SUBTRACTS),
      onMessage: [{ say: 'I heard: {message}' }],
    });
    const { page } = await all.signIn(`/worktrees/${worktree}`);
    await page.getByRole('button', { name: 'Comment on added line 1 of sum.mjs' }).click();
    await comment(page, 'It has to add.');
    writeFileSync(join(path, 'sum.mjs'), `// sums\n${SUBTRACTS}`);
    await page.getByRole('button', { name: 'Send review: 1 comment' }).click();
    await page.getByRole('alert').getByText('Changed since they were commented on: sum.mjs').waitFor();
    const kept = () => page.getByRole('textbox', { name: 'Comment on line 1 of sum.mjs' }).inputValue();
    expect(await kept()).toBe('It has to add.');
    await page.getByText('The files have changed since you looked.').waitFor();

    await page.goto(`${all.address}/`);
    await enter(page, all.world, `/worktrees/${worktree}`);
    await page.getByText('1 comment on what has changed since.').waitFor();
    expect(await kept()).toBe('It has to add.');
    await page.getByRole('button', { name: 'Move to line 2' }).click();
    await page.getByRole('button', { name: 'Send review: 1 comment' }).click();
    await page.getByText('The agent goes on with it').waitFor();
    await all.world.until(id, ({ turns, activity }) => turns >= 2 && activity === 'idle');
    expect(JSON.stringify(await all.world.events(id))).toContain('sum.mjs, line 2:');
    expect((await all.world.job(id)).turns).toBe(2);
    expect(await page.getByRole('textbox', { name: 'About all of it' }).inputValue()).toBe('');
  },
);

inChromium('U-33').test(
  'what needs consent is listed first; a merge waits for uncommitted work, and is done as soon as that is gone',
  async () => {
    const all = await makeProject(await rig());
    const { worktree } = await begun(
      all,
      'sum',
      [...writes('sum.mjs', ADDS), ...writes('notes.txt', 'one\nmore\n')],
      ['sum.mjs'],
    );
    const { page } = await all.signIn(`/worktrees/${worktree}`);
    await page.getByText('1 file not planned: notes.txt').waitFor();
    await page.getByRole('button', { name: 'Run the gates' }).click();
    await until('accept is on', async () => !(await isOff(page)));
    await accept(page).click();
    await page.getByRole('alert').getByText('not planned: notes.txt').waitFor();
    writeFileSync(join(all.world.repository, 'notes.txt'), 'mine\n');
    await page.getByRole('button', { name: 'Accept all of that' }).click();
    await page.getByRole('button', { name: 'Merge it so?' }).click();
    await page.getByText('uncommitted changes to notes.txt').waitFor();
    await page.getByRole('button', { name: 'Merge as soon as that is clean' }).click();
    await page.getByText('It is done as soon as that is clean.').waitFor();
    expect(readFileSync(join(all.world.repository, 'notes.txt'), 'utf8')).toBe('mine\n');
    all.git('checkout', '-q', '--', 'notes.txt');
    await page.getByText('Merged', { exact: true }).waitFor();
    expect(all.git('show', 'main:notes.txt')).toBe('one\nmore');
  },
);

const fits = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');

inChromium('U-33', 'U-35').test(
  'the radar shows who writes the same lines; a long change is virtual; nothing is too wide for a phone',
  async () => {
    const all = await makeProject(await rig());
    const lines = Array.from({ length: 4_000 }, (_, at) => `line ${at + 1} ${'and so on '.repeat(at % 20)}`).join('\n');
    const two = await worked(all, 'first', [
      ...writes('notes.txt', 'one\nzwei\nthree\n'),
      ...writes('long.txt', `${lines}\n`),
    ]);
    await worked(all, 'second', writes('notes.txt', 'one\ndeux\nthree\n'));
    await begun(all, 'third', writes('rate.mjs', 'export const rate = () => 0.25;\n'), ['long.txt']);
    await worked(all, 'fourth', writes('tax.mjs', 'export const tax = (net) => net / 5;\n'));
    const { page } = await all.signIn('/worktrees');
    await page.getByText('hot with first').waitFor();
    await page.getByRole('tab', { name: 'Radar' }).click();
    await page.getByRole('button', { name: 'hot: first and second, 1 file' }).click();
    const shared = page.getByRole('region', { name: 'Shared files' });
    await shared.getByText('notes.txt').waitFor();
    await shared.getByText('lines 2').waitFor();
    await page.getByRole('button', { name: 'soft: third and first, 1 file' }).click();
    await shared.getByText('long.txt').waitFor();
    await page.getByRole('button', { name: /^hop: third and fourth/ }).click();
    await shared.getByText('tax.mjs').or(shared.getByText('rate.mjs')).first().waitFor();
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await fits(page)).toBe(true);
    await page.getByRole('tab', { name: 'List' }).click();
    expect(await fits(page)).toBe(true);

    await page.goto(`${all.address}/`);
    await enter(page, all.world, `/worktrees/${two.worktree}`);
    await page.getByText('+line 1', { exact: true }).waitFor();
    expect(await fits(page)).toBe(true);
    expect(await page.locator('.change-line').count()).toBeLessThan(200);
    await page.getByText('2 files', { exact: true }).click();
    await page.getByRole('button', { name: 'notes.txt' }).first().click();
    await page.getByText('zwei').waitFor();
    expect(await page.locator('.change-line').count()).toBeLessThan(200);
  },
);

inChromium('U-33', 'U-35').test(
  'without worktrees, without such a one, and without the daemon the page says so; what is discarded can come back',
  async () => {
    const all = await makeProject(await rig());
    const { page } = await all.signIn('/worktrees');
    await page.getByRole('heading', { name: 'There is no worktree' }).waitFor();
    const { id, worktree } = await worked(all, 'sum', writes('sum.mjs', ADDS));
    await page.getByRole('link', { name: 'sum', exact: true }).click();
    await page.getByRole('textbox', { name: 'About all of it' }).fill('Well done.');
    await all.world.stopDaemon();
    await page.getByText('This is what was there when the connection was lost.').waitFor();
    const send = page.getByRole('button', { name: 'Send review' });
    expect([await send.getAttribute('aria-disabled'), await send.getAttribute('title')]).toEqual([
      'true',
      'Not connected',
    ]);
    await all.world.client.call('status', {});
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByRole('textbox', { name: 'About all of it' }).inputValue()).toBe('Well done.');

    await all.world.client.call('kill', { id });
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Discard it? Its work is kept' }).click();
    await page.getByText('Discarded', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Bring it back' }).click();
    await page.getByText('export const sum = (a, b) => a + b;').waitFor();
    await page.goto(`${all.address}/`);
    await enter(page, all.world, `/worktrees/${worktree.slice(0, -2)}`);
    await page.getByRole('heading', { name: 'No such worktree' }).waitFor();
  },
);
