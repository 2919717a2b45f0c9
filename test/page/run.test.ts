import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { done, PROJECT, QUICK, WRITES_IT_RIGHT, WRITES_IT_WRONG } from '../e2e/runs-rig.ts';
import { plainGit, writeFiles } from '../support/repository.ts';
import { until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests } from './page-rig.ts';

/** A run as its graph: what lights up, what has halted, and the ways on. */

const { rig } = pageTests();

/** Writes it wrong, until somebody says how. */
const WORKER = [
  {
    choose: [
      { when: 'HUMAN_GUIDANCE', steps: WRITES_IT_RIGHT },
      { when: 'Quick__Write, visit', steps: WRITES_IT_WRONG },
      { steps: [done('Nothing to do.')] },
    ],
  },
];

async function started(
  more: { step?: boolean } = {},
): Promise<PageRig & { runId: string; page: Page; asked: string[] }> {
  const all = await rig();
  const { repository, env, client } = all.world;
  const git = plainGit(repository, env);
  git('config', 'user.name', 'The User');
  git('config', 'user.email', 'user@example.invalid');
  writeFiles(repository, { ...PROJECT, '.reef/workflows.yaml': QUICK });
  git('add', '-A');
  git('commit', '-qm', 'project');
  const { items } = await client.call('trust', {});
  await client.call('trust', { hashes: items.map(({ hash }) => hash) });
  const agent = all.world.script('worker', WORKER);
  const { runId } = await client.call('run', { task: 'write sum', agent, sandbox: false, ...more });
  const { page } = await all.signIn();
  const asked: string[] = [];
  page.on('request', (request) => {
    const operation = request.url().split('/v1/op/')[1];
    if (operation?.startsWith('run_')) asked.push(operation);
  });
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('link', { name: 'write sum' }).click();
  return { ...all, runId, page, asked };
}

const block = (page: Page, name: string) => page.getByRole('region', { name: 'Workflow' }).getByRole('link', { name });
const lit = (page: Page, name: string, state: string, more = ' .*') =>
  page
    .getByRole('region', { name: 'Workflow' })
    .getByRole('link', { name: new RegExp(`^${name}${more}: ${state}$`) })
    .waitFor();
const panel = (page: Page, name: string) => page.getByRole('region', { name: `Block ${name}` });

inChromium('U-31', 'U-36', 'W-81').test(
  'a run lights up block by block: it is approved, halts at a failing gate, is told how, and its way can be walked again',
  async () => {
    const { page, world, runId, asked } = await started({ step: true });
    await lit(page, 'Write', 'Halted');
    await lit(page, 'Test', 'Planned');
    await page.getByRole('region', { name: 'Workflow' }).getByText('RESUMED').waitFor();
    await panel(page, 'Write').getByRole('button', { name: 'Approve' }).click();
    await lit(page, 'Write', 'Done');
    await panel(page, 'Test').getByRole('button', { name: 'Approve' }).click();

    // The gate has refused: its words are there, and whoever goes on can say what to do better.
    const test = panel(page, 'Test');
    await test
      .getByText(/-1 !== 5|five/)
      .first()
      .waitFor();
    await test.getByRole('textbox', { name: 'What the next agent should know' }).fill('take plus');
    await test.getByRole('button', { name: 'Go on with guidance' }).click();
    await panel(page, 'Write').getByRole('button', { name: 'Approve' }).click();
    await lit(page, 'Write', 'Done');
    await panel(page, 'Test').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Ready to merge', { exact: true }).waitFor();
    await lit(page, 'Write Quick ×2', 'Done', '');
    // It was asked how it stands once; what came to be different since was told.
    expect(asked.filter((operation) => operation !== 'run_control' && operation !== 'run_log')).toEqual(['run_follow']);

    const way = page.getByRole('region', { name: /^The way it took/ }).getByRole('listitem');
    expect((await way.allInnerTexts()).map((text) => text.split('\n')[0])).toEqual(['Write', 'Test', 'Write', 'Test']);
    const scrubber = page.getByRole('slider', { name: 'Step of the way' });
    expect(await scrubber.getAttribute('aria-valuetext')).toBe('Step 4 of 4: Test, visit 2');
    await scrubber.focus();
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key);
    await until(
      'it stands at the first step',
      async () => (await scrubber.getAttribute('aria-valuetext'))?.startsWith('Step 1 of 4: Write') === true,
    );
    await lit(page, 'Test', 'Planned');
    await panel(page, 'Write').getByText('What its prompt was made of').waitFor();
    await page.getByRole('button', { name: 'to now' }).click();
    await lit(page, 'Test', 'Done');

    await block(page, 'Test').click();
    await page.getByRole('navigation', { name: 'Visits of this block' }).getByRole('link', { name: 'Visit 1' }).click();
    await panel(page, 'Test').getByText('exit code 1').waitFor();
    await block(page, 'Write').click();
    await panel(page, 'Write').getByRole('link', { name: 'its job' }).click();
    await page.getByRole('log', { name: 'Timeline' }).waitFor();
    const { view } = await world.client.call('run_status', { id: runId });
    expect(Object.values(view?.executionLog ?? {}).map(({ signal }) => signal?.replace('SIGNAL:', ''))).toHaveLength(4);
  },
);

inChromium('U-31').test(
  'a halted run does a block once more, is put on hold, goes on past it, or is aborted',
  async () => {
    const { page, world, runId } = await started();
    const { client } = world;
    await panel(page, 'Test').getByRole('textbox', { name: 'What the next agent should know' }).fill('once more');
    await panel(page, 'Test').getByRole('button', { name: 'Retry with guidance' }).click();
    const halts = async () => {
      const { view } = await client.call('run_status', { id: runId });
      return view?.halts.map(({ block: name, visit }) => `${name} ${visit}`).join();
    };
    await until('the gate has judged again', async () => (await halts()) === 'Quick__Test 2');
    await page.getByRole('button', { name: 'Hold' }).click();
    await until('its worktree is put aside', async () => {
      const { worktrees } = await client.call('worktrees', { all: true });
      return worktrees.some(({ status }) => status === 'held');
    });
    await panel(page, 'Test').getByRole('button', { name: 'Skip' }).click();
    await page.getByText('Ready to merge', { exact: true }).waitFor();

    const again = await client.call('run', {
      task: 'write it again',
      agent: world.script('worker', WORKER),
      anyway: true,
    });
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('link', { name: 'write it again' }).click();
    await lit(page, 'Test', 'Halted');
    await panel(page, 'Test').getByRole('button', { name: 'Abort' }).click();
    await panel(page, 'Test').getByRole('button', { name: 'Abort the run?' }).click();
    await page.getByText('Aborted', { exact: true }).first().waitFor();
    expect((await client.call('run_status', { id: again.runId })).runs[0]?.status).toBe('aborted');
  },
);
