import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { OperationInput } from '../../src/protocol/operations.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';
import { hasChromium, startChromium } from './chromium.ts';
import { enter } from './enter.ts';

/** Reached only by what never comes: other tests use the machine as well. */
export const PATIENCE_MS = 60_000;

export const inChromium = (...ids: Parameters<typeof verifies>) =>
  verifies(...ids).needs(hasChromium, 'there is no Chromium for this machine');

/** The steps before it are over, and the next ones begin when the test calls `touch`. */
export const untilThereIs = (name: string) => ({ shell: ['sh', '-c', `until [ -e ${name} ]; do sleep 0.05; done`] });

export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Addresses of other servers that were asked for anything. */
  strangers: string[];
  /** What the page's own policy refused, and errors that nobody caught. */
  faults: string[];
}

/** A world whose door is open, and tabs of a real Chromium on it. */
export interface PageRig {
  world: World;
  address: string;
  /** A tab that came by the one-use code, at this path of the page. */
  signIn(path?: string, options?: BrowserContextOptions): Promise<Tab>;
  /** A scripted agent at work in the repository; the id of its job. */
  spawn(steps: unknown, more?: Partial<OperationInput<'spawn'>>): Promise<string>;
  /** Makes a file in the repository. */
  touch(name: string): void;
  /** A tab that nobody has signed in. */
  blank(options?: BrowserContextOptions): Promise<Tab>;
}

/** For a whole file: one browser, and for each test that asks a world of its own. What tabs did that they must never do fails the test. */
export function pageTests(): {
  browser(): Browser;
  rig(): Promise<PageRig>;
  /** A tab for a page that something else has opened. */
  tab(address: string, options?: BrowserContextOptions): Promise<Tab>;
} {
  let browser: Browser | undefined;
  const tabs: Tab[] = [];
  const worlds: World[] = [];
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterEach(async () => {
    const seen = tabs.splice(0);
    for (const { context } of seen) await context.close();
    for (const world of worlds.splice(0)) await world.close();
    expect(seen.flatMap(({ strangers, faults }) => [...strangers, ...faults])).toEqual([]);
  });
  afterAll(() => browser?.close());
  const running = () => {
    if (!browser) throw new Error('The browser runs during tests only');
    return browser;
  };
  const opened = async (address: string, options?: BrowserContextOptions) => {
    const tab = await openTab(running(), address, options);
    tabs.push(tab);
    return tab;
  };
  return {
    browser: running,
    tab: opened,
    async rig() {
      const world = makeWorld();
      worlds.push(world);
      const { address = '' } = await world.client.door({ do: 'open' });
      const blank = (options?: BrowserContextOptions) => opened(address, options);
      const signIn = async (path = '/', options?: BrowserContextOptions) => {
        const tab = await blank(options);
        await enter(tab.page, world, path);
        return tab;
      };
      const spawn = async (steps: unknown, more: Partial<OperationInput<'spawn'>> = {}) => {
        const agent = world.script('agent', steps);
        return (await world.client.call('spawn', { agent, task: 'Store the orders', sandbox: false, ...more })).agentId;
      };
      const touch = (name: string) => writeFileSync(join(world.repository, name), '');
      return { world, address, spawn, touch, blank, signIn };
    },
  };
}

async function openTab(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const [strangers, faults]: [string[], string[]] = [[], []];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${address}/`)) strangers.push(request.url());
  });
  page.on('pageerror', (error) => faults.push(`${error}`));
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
  });
  return { page, context, strangers, faults };
}
