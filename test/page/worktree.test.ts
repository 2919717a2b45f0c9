import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { plainGit, writeFiles } from '../support/repository.ts';
import { until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests, untilThereIs } from './page-rig.ts';

/** The screens of worktrees: what agents changed, looked at, commented on, judged and merged. */

const { rig } = pageTests();

const ADDS = 'export const sum = (a, b) => a + b;\n';
const SUBTRACTS = 'export const sum = (a, b) => a - b;\n';
const PROJECT = {
  'package.json': '{"type":"module","scripts":{"test":"node check.mjs"}}\n',
  'check.mjs': [
    "import { existsSync } from 'node:fs';",
    "const { sum } = existsSync('sum.mjs') ? await import('./sum.mjs') : { sum: () => 5 };",
    "if (sum(2, 3) !== 5) throw new Error('not five');\n",
  ].join('\n'),
  'notes.txt': 'one\ntwo\nthree\n',
};

/** A project with one gate that a person has trusted. */
async function project(): Promise<PageRig & { git: ReturnType<typeof plainGit> }> {
  const all = await rig();
  const { repository, env, client } = all.world;
  const git = plainGit(repository, env);
  git('config', 'user.name', 'The User');
  git('config', 'user.email', 'user@example.invalid');
  writeFiles(repository, PROJECT);
  git('add', '-A');
  git('commit', '-qm', 'project');
  const { items } = await client.call('trust', {});
  await client.call('trust', { hashes: items.map(({ hash }) => hash) });
  return { ...all, git };
}

/** A scripted agent that has done its first turn in a worktree of its own. */
async function worked(
  { world }: PageRig,
  name: string,
  script: unknown,
): Promise<{ id: string; worktree: string; path: string }> {
  const agent = world.script(name, script);
  const order = { agent, task: `Write ${name}`, worktree: name, keep: true, sandbox: false };
  const { agentId: id, worktree = '' } = await world.client.call('spawn', order);
  await world.until(id, ({ activity, turns }) => activity === 'idle' && turns >= 1);
  const { worktrees } = await world.client.call('worktrees', {});
  return { id, worktree, path: worktrees.find((each) => each.id === worktree)?.path ?? '' };
}

const wrong = (more: object = {}) => ({
  steps: [{ edit: { path: 'sum.mjs', content: SUBTRACTS } }, { say: 'Written.' }],
  ...more,
});

const accept = (page: Page) => page.getByRole('button', { name: 'Accept into main' });
const isOff = async (page: Page) => (await accept(page).getAttribute('aria-disabled')) === 'true';
const comment = (page: Page, text: string) =>
  page.getByRole('textbox', { name: 'Comment on line 1 of sum.mjs' }).fill(text);

inChromium('U-33', 'U-36').test(
  'a worktree is looked at, its review reaches the agent, stale gates switch accept off, and accept merges',
  async () => {
    const all = await project();
    const go = join(all.world.root, 'go');
    const { id, path } = await worked(
      all,
      'sum',
      wrong({
        onMessage: [{ say: 'I heard: {message}' }, untilThereIs(go), { edit: { path: 'sum.mjs', content: ADDS } }],
      }),
    );
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
    await all.world.client.call('conflicts', {});
    await page.getByRole('button', { name: 'Show the present ones' }).click();
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
