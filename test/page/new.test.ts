import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { enter } from './enter.ts';
import { inChromium, pageTests, untilThereIs } from './page-rig.ts';
import { begun, makeProject } from './project-rig.ts';

/** A new task: described, compared with what is at work while it is written, and started. */

const { rig } = pageTests();

const task = (page: Page) => page.getByRole('textbox', { name: 'What should be done' });
const plan = (page: Page) => page.getByRole('textbox', { name: /^Files it will change/ });
const isOff = async (page: Page) =>
  (await page.getByRole('button', { name: 'Start' }).getAttribute('aria-disabled')) === 'true';

inChromium('U-37', 'U-35').test(
  'a task is written with the clash report live, outlives a reload and a daemon, and starts as a job and as a run',
  async () => {
    const all = await makeProject(await rig());
    const go = join(all.world.root, 'go');
    await begun(all, 'notes', [untilThereIs(go), { say: 'Done.' }], ['notes.txt']);
    const agent = all.world.script('writer', [{ say: 'I do: {task}' }]);
    const { page } = await all.signIn('/now');
    await page.getByRole('heading', { name: 'Working' }).waitFor();
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'New task' }).waitFor();
    expect(await isOff(page)).toBe(true);
    await page.keyboard.type('Write the orders');
    await page.getByRole('radio', { name: /One agent/ }).check();
    await page.getByRole('combobox', { name: 'Agent' }).fill(agent);
    await page.getByRole('textbox', { name: 'Tokens at most' }).fill('200k');

    await plan(page).fill('notes.txt');
    await page.getByText('Others are at work there.').waitFor();
    await page.getByText('Same files', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'notes', exact: true }).waitFor();
    await plan(page).fill('orders/**');
    await page.getByText('Nobody is in the way').waitFor();

    await page.goto(`${all.address}/`);
    await enter(page, all.world, '/new');
    await all.world.stopDaemon();
    await page.getByText(/^Not connected since/).waitFor();
    expect([await task(page).inputValue(), await isOff(page)]).toEqual(['Write the orders', true]);
    await all.world.client.call('status', {});
    await page.getByText('Live', { exact: true }).waitFor();
    expect([await plan(page).inputValue(), await isOff(page)]).toEqual(['orders/**', false]);
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')).toBe(
      true,
    );
    await page.setViewportSize({ width: 1280, height: 900 });

    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('log', { name: 'Timeline' }).getByText('I do: Write the orders').waitFor();
    const { jobs } = await all.world.client.call('status', {});
    const job = jobs.find((each) => each.task === 'Write the orders');
    expect(job?.budget).toEqual({ tokens: 200_000 });
    const { worktrees } = await all.world.client.call('worktrees', {});
    const made = worktrees.find(({ id }) => id === job?.worktree);
    expect(made?.changePlan.map(({ path }) => path)).toEqual(['orders/**']);

    await page.getByRole('link', { name: 'New', exact: true }).click();
    expect(await task(page).inputValue()).toBe('');
    await task(page).fill('Mend the notes');
    await page.getByRole('textbox', { name: 'Minutes at most' }).fill('5');
    await page.getByRole('combobox', { name: 'Workflow' }).fill('nowhere');
    await task(page).press('Control+Enter');
    await page.getByRole('alert').getByText('There is no node "nowhere".').waitFor();
    await page.getByRole('combobox', { name: 'Workflow' }).fill('test-fix');
    await page.getByRole('combobox', { name: 'Agent' }).fill(agent);
    await plan(page).fill('notes.txt');
    await page.getByText('It starts when those with the same files are done.').waitFor();
    await task(page).press('Control+Enter');
    await page.getByRole('heading', { name: 'Mend the notes' }).waitFor();
    await page.getByText('Queued', { exact: true }).waitFor();
    const { runs } = await all.world.client.call('runs', {});
    expect(runs).toMatchObject([{ task: 'Mend the notes', status: 'queued' }]);
    await page.getByText('waits for notes (notes.txt)').getByRole('link', { name: 'notes' }).waitFor();

    await page.getByRole('link', { name: 'New', exact: true }).click();
    await task(page).fill('Read the notes at once');
    await page.getByRole('radio', { name: /One agent/ }).check();
    await page.getByRole('combobox', { name: 'Agent' }).fill(agent);
    await plan(page).fill('notes.txt');
    await page.getByRole('checkbox', { name: /^Start anyway/ }).check();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('log', { name: 'Timeline' }).getByText('I do: Read the notes at once').waitFor();
    writeFileSync(go, '');
  },
);
