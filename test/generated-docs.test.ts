import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pages } from '../scripts/generate-docs.ts';

for (const [path, page] of Object.entries(pages)) {
  test(`${path} is current; else run node scripts/generate-docs.ts`, () => {
    expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).toBe(page());
  });
}
