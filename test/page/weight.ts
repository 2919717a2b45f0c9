import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { ROOT } from '../support/source-files.ts';

const BUILT = join(ROOT, 'dist/web');

interface Weight {
  requests: number;
  /** Of what was asked for, gzipped. */
  loaded: number;
  /** Of all that there is. */
  whole: number;
}

/** What a tab has loaded of the page so far, in bytes, without what it asked the daemon. */
export async function weightOf(page: Page): Promise<Weight> {
  const names = (await page.evaluate(
    `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => !path.startsWith('/v1/'))`,
  )) as string[];
  const files = ['index.html', ...names.map((path) => path.slice(1))];
  const every = readdirSync(join(BUILT, 'assets')).map((name) => `assets/${name}`);
  return { requests: files.length, loaded: packed(files), whole: packed(['index.html', ...every]) };
}

const packed = (files: readonly string[]) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(join(BUILT, file))).length, 0);
