import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { SHOP } from '../e2e/transcript.ts';
import { plainGit, writeFiles } from '../support/repository.ts';
import { ROOT } from '../support/source-files.ts';
import { until } from '../support/wait.ts';
import { inChromium, PATIENCE_MS, type PageRig, pageTests } from './page-rig.ts';

/** Every screen by day and by night, on a phone and on a desk: as it looks, and whether everybody can use it. */

const { rig } = pageTests();

/** Pictures of everything, for whoever wants to look. */
const PICTURES = join(ROOT, 'node_modules/.cache/reef/screens');
/** `npm run page:screenshots` puts those of the README here. */
const OF_README = process.env.REEF_PAGE_PICTURES;

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const THEMES = ['light', 'dark'] as const;
const WIDTHS = [1280, 375] as const;
const IN_README: readonly string[] = ['now-light-1280', 'run-dark-1280'];

interface Shown {
  name: string;
  path: string;
  /** Until then there is nothing to look at. */
  shows?: string | RegExp;
  /** What is done on it first. */
  first?: (page: Page) => Promise<unknown>;
}

/** What is wrong with it, one line each. */
async function look(page: Page, { name, path, shows, first }: Shown): Promise<string[]> {
  await page.setViewportSize({ width: WIDTHS[0], height: 900 });
  await page.goto(new URL(path, page.url()).href);
  await page.locator('main h1, main h2').first().waitFor();
  if (shows !== undefined) await page.locator('main').getByText(shows).first().waitFor();
  await first?.(page);
  const wrong: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width === 375 ? 812 : 900 });
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      wrong.push(...(await faultsOf(page, `${name}-${theme}-${width}`)));
    }
  }
  return wrong;
}

async function faultsOf(page: Page, what: string): Promise<string[]> {
  const folder = OF_README !== undefined && IN_README.includes(what) ? join(ROOT, OF_README) : PICTURES;
  await page.screenshot({ path: join(folder, `${what}.png`) });
  const wide: unknown = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  const { violations } = await new AxeBuilder({ page }).withTags(WCAG).analyze();
  return [
    ...(wide === 0 ? [] : [`${what}: ${wide} px too wide`]),
    ...violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${what}: ${id} at ${target.join(' ')}: ${failureSummary}`),
    ),
  ];
}

const MODELS = ['rounder', 'zero', 'notes'];
const AGENT = 'native:coder';

/** The project of the demo, with its models: a run that asks, one that waits for it, one that has halted, and a job beside them. */
async function atWork({ world }: PageRig): Promise<{ runId: string; halted: string }> {
  const { client, repository, env } = world;
  const git = plainGit(repository, env);
  git('config', 'user.name', 'Ada');
  git('config', 'user.email', 'ada@example.invalid');
  writeFiles(repository, SHOP);
  git('add', '-A');
  git('commit', '-qm', 'A shop with a failing test');
  const { items } = await client.call('trust', {});
  await client.call('trust', { hashes: items.map(({ hash }) => hash) });
  const start = (task: string, model: string, plan: string[], more = {}) =>
    client.call('run', { task, agent: AGENT, model: `demo:${model}`, plan, ...more });
  const { runId } = await start('Make the failing test pass', 'rounder', ['tax.mjs'], { accept: true });
  await start('Support a rate of zero', 'zero', ['tax.mjs', 'zero.test.mjs'], { accept: true });
  await client.call('spawn', { task: 'Write the release notes', agent: AGENT, model: 'demo:notes', worktree: 'notes' });
  const halted = await start('Describe each rate', 'notes', ['RATES.md'], { budget: { tokens: 1 } });
  await until('the run has halted', async () => {
    const { runs } = await client.call('runs', { all: true });
    return runs.some((run) => run.runId === halted.runId && run.status === 'halted');
  });
  return { runId, halted: halted.runId };
}

async function answered({ world: { client } }: PageRig): Promise<void> {
  const { questions } = await client.call('inbox', {});
  for (const { jobId, questionId, options } of questions)
    if (options?.length === 2) await client.call('send', { id: jobId, questionId, option: [1] });
  await until(
    'the two runs are merged',
    async () => (await client.call('runs', { all: true })).runs.filter(({ merge }) => merge === 'merged').length === 2,
    4 * PATIENCE_MS,
  );
}

/** The question of the agent and that of the halted run, when they can be answered. */
const bothAsked = (page: Page) => page.locator('[data-armed="true"]').nth(1).waitFor();

inChromium('U-39', 'U-35').test(
  'no screen has a fault of accessibility, by day and by night, wide and narrow, and none is too wide for a phone',
  async () => {
    mkdirSync(PICTURES, { recursive: true });
    if (OF_README !== undefined) mkdirSync(join(ROOT, OF_README), { recursive: true });
    const all = await rig();
    const models = MODELS.map((name) => ({ name, script: join(ROOT, `src/surfaces/terminal/demo/${name}.yaml`) }));
    all.world.configure({ clients: [{ type: 'scripted', name: 'demo', models }] });
    const { page } = await all.signIn();
    // From here on each screen is loaded by its address.
    await page.keyboard.press('?');
    await page.getByLabel('Stay signed in when this tab reloads').check();
    const wrong = await look(page, { name: 'now-empty', path: '/now', shows: 'Nothing is at work' });
    for (const path of ['/runs', '/worktrees', '/code', '/usage']) {
      await page.goto(new URL(path, page.url()).href);
      await page.locator('.empty .command').first().waitFor();
    }

    const { runId, halted } = await atWork(all);
    wrong.push(...(await look(page, { name: 'now', path: '/now', first: bothAsked })));
    await answered(all);

    const { jobs } = await all.world.client.call('status', {});
    const { worktrees } = await all.world.client.call('worktrees', { all: true });
    const notes = worktrees.find(({ title }) => title === 'notes');
    const job = jobs.find(({ worktree }) => worktree === notes?.id);
    /** Screens without an id are looked at as they open, when this is there. */
    const opens: Readonly<Record<string, string>> = {
      now: 'Needs you',
      runs: 'Make the failing test pass',
      worktrees: 'notes',
      code: 'Nothing is asked yet',
      usage: 'Tokens',
    };
    /** Those with an id, and states of others. */
    const table: Shown[] = [
      { name: 'run', path: `/runs/${runId}`, shows: 'Merged' },
      { name: 'run-halted', path: `/runs/${halted}`, shows: 'Halted' },
      { name: 'job', path: `/jobs/${job?.id}`, shows: /^Ended/ },
      { name: 'worktree', path: `/worktrees/${notes?.id}`, shows: 'NOTES.md' },
      { name: 'code-found', path: '/code?q=tax&way=references', shows: 'tax.test.mjs' },
      { name: 'help', path: '/runs', first: (each) => each.keyboard.press('?') },
      { name: 'palette', path: '/runs', first: (each) => each.keyboard.press('Control+k') },
    ];
    const sources = readFileSync(join(ROOT, 'web/src/screens.tsx'), 'utf8');
    const known = [...sources.matchAll(/name: '([\w-]+)',\s+title: '[^']*',\s+path: '([\w-]+)',(\s+takesId: true)?/g)];
    expect(known.length).toBeGreaterThan(6);
    for (const [, name = '', path, takesId] of known) {
      const shows = opens[name];
      if (takesId === undefined) table.push({ name: `open-${name}`, path: `/${path}`, ...(shows && { shows }) });
      else expect(table.map((each) => each.name)).toContain(name);
    }
    for (const shown of table) wrong.push(...(await look(page, shown)));
    const { page: stranger } = await all.blank();
    await stranger.goto(all.address);
    wrong.push(...(await look(stranger, { name: 'signed-out', path: '/' })));
    expect(wrong).toEqual([]);
  },
  600_000,
);
