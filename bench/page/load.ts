import { weightOf } from '../../test/page/weight.ts';
import { median, printLimits, printRows } from '../measure.ts';
import { withPage } from './rig.ts';

const ROUNDS = 9;

/** From the beginning of the navigation to the first frame that shows this. */
const WATCH = `window.watch = (selector) => new Promise((done) => {
  const look = () => document.querySelector(selector)
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : requestAnimationFrame(look);
  look();
});`;

/** What is loaded before the first screen is there. */
export async function benchWeight(): Promise<boolean> {
  return withPage(async ({ page }) => {
    await page.getByRole('heading', { name: 'Nothing is at work' }).waitFor();
    const { requests, loaded, whole } = await weightOf(page);
    return printLimits('The files of the page, gzipped', [
      { what: 'the first screen', measured: loaded / 1_000, most: 60, unit: 'kB' },
      { what: 'requests for it', measured: requests, most: 5, unit: 'files' },
      { what: 'every screen', measured: whole / 1_000, most: 150, unit: 'kB' },
    ]);
  });
}

/** The page against a document of the same server in which there is nothing. */
export async function benchLoad(): Promise<boolean> {
  return withPage(async ({ world, address, page }) => {
    const agent = world.script('one', [{ say: 'Done.' }]);
    const { agentId } = await world.client.call('spawn', { agent, task: 'Store the orders', sandbox: false });
    await world.until(agentId, ({ endedAt }) => endedAt !== undefined);
    await page.addInitScript(WATCH);
    const shows = async (path: string, selector: string) => {
      await page.goto(`${address}${path}`);
      return Number(await page.evaluate(`watch('${selector}')`));
    };
    const [empty, frame, cards]: number[][] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      empty?.push(await shows('/assets/none', 'body'));
      frame?.push(await shows('/now', '.rail a'));
      cards?.push(await shows('/now', '.card'));
    }
    const theirs = median(empty ?? []);
    return printRows('The page loaded again, against an empty one of the same server', [
      { what: 'its frame answers', ours: median(frame ?? []), theirs, unit: 'ms', target: { most: 3 } },
      {
        what: 'its first screen shows what the daemon has',
        ours: median(cards ?? []),
        theirs,
        unit: 'ms',
        target: { most: 3 },
      },
    ]);
  });
}
