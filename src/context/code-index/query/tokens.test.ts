import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../../base/tokens.ts';
import { estimateTokens } from './tokens.ts';

const ROOT = join(import.meta.dirname, '../../..');

verifies('C-052', 'C-065').test('the estimate lies above the exact count of code, and not far above', async () => {
  const { count } = await loadTokenCounter();
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(ts|scm)$/.test(name));
  const texts = files.sort().map((name) => readFileSync(join(ROOT, name), 'utf8'));
  // Answers are made of several files, so it is tried on some together.
  const parts = Array.from({ length: Math.floor(texts.length / 5) }, (_, at) =>
    texts.slice(at * 5, at * 5 + 5).join('\n'),
  );
  const ratios = parts.map((text) => estimateTokens(text) / count(text)).sort((a, b) => a - b);
  expect(ratios.length).toBeGreaterThan(20);
  expect(ratios[0]).toBeGreaterThan(1);
  expect(ratios.at(-1)).toBeLessThan(1.3);
});

verifies('C-052').test('what is no code is not underestimated either', async () => {
  const { count } = await loadTokenCounter();
  const texts = {
    hex: '0f3a9c4417bd22ee'.repeat(200),
    chinese: '検索結果を表示する関数です。'.repeat(100),
    letters: 'xqzvkjwplmrtbdfghcns'.repeat(100),
    marks: '!@#$%^&*()_+{}|:"<>?~`-=[]\\;\',./'.repeat(50),
    faces: '🦀🐠🪸'.repeat(100),
    lines: '\n\n\n  \t x\r\n'.repeat(200),
  };
  for (const [name, text] of Object.entries(texts))
    expect([name, estimateTokens(text) >= count(text)]).toEqual([name, true]);
});
