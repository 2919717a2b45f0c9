import type { CDPSession, Page } from 'playwright-core';
import { buildWebIfOlder } from '../../scripts/build-web.ts';
import { makeWorld, type World } from '../../test/e2e/harness.ts';
import { startChromium, unpackChromium } from '../../test/page/chromium.ts';
import { enter } from '../../test/page/enter.ts';

export interface PageBench {
  world: World;
  address: string;
  page: Page;
  /** Chromium's own figures. */
  cdp: CDPSession;
}

/** A signed-in page on a daemon of its own. It stays signed in when it is loaded again. */
export async function withPage(work: (bench: PageBench) => Promise<boolean>): Promise<boolean> {
  await buildWebIfOlder();
  await unpackChromium();
  const world = makeWorld();
  const browser = await startChromium();
  try {
    const { address = '' } = await world.client.door({ do: 'open' });
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(60_000);
    await page.goto(address);
    await page.evaluate("localStorage.setItem('reef.remember', 'yes')");
    await enter(page, world, '/now');
    const cdp = await page.context().newCDPSession(page);
    return await work({ world, address, page, cdp });
  } finally {
    await browser.close();
    await world.close();
  }
}

const LINES = Array.from({ length: 12 }, (_, at) => `✓ test ${at} of the orders passes`).join('\n');
const DIFF = '@@ -1,3 +1,3 @@\n export const rates = [\n-  0.2,\n+  0.25,\n ];\n';
const MARKDOWN =
  'I look at **the orders** first:\n\n- `orders.ts` reads them\n- `store.ts` keeps them\n\nThen the tests.';
const call = { id: 't', name: 'bash', tool: 'shell', title: 'npm test', input: { command: 'npm test' } };
const result = { kind: 'tool_result', id: 't', ok: true, exitCode: 0, text: LINES };

/** What agents do, again and again: five events a round. */
const ROUND = [
  { think: 'Where are the orders kept, and who else reads them?' },
  { say: MARKDOWN },
  { emit: { type: 'tool_call', payload: call } },
  { emit: { type: 'progress', payload: result } },
  { emit: { type: 'file_edit', payload: { id: 'e', path: 'orders.ts', kind: 'update', diff: DIFF } } },
];

export const LAST_WORDS = 'These are the last words.';

/** A job that has written about so many events and ended; its id. */
export async function longJob({ world }: PageBench, events: number): Promise<string> {
  const steps = [{ say: 'The first words.' }, { repeat: { times: events / ROUND.length, steps: ROUND } }];
  const agent = world.script('long', [...steps, { say: LAST_WORDS }]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'Store the orders', sandbox: false });
  await world.until(agentId, ({ endedAt }) => endedAt !== undefined, 300_000);
  return agentId;
}
