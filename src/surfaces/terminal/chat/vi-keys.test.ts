import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { ViKeys } from './vi-keys.ts';

const translated = (...chunks: string[]) => {
  const keys = new ViKeys();
  return chunks.map((chunk) => keys.translate(Buffer.from(chunk)).toString());
};

verifies('R-112').test('in insert mode every key is itself, and Escape leads to normal mode', () => {
  expect(translated('abé', '\u001b', 'x', 'q')).toEqual(['abé', '\u0002', '\u001b[3~', '']);
});

test('an operator takes the key after it, and a change goes on in insert mode', () => {
  expect(translated('\u001b', 'dw', 'dd', 'cw', 'hd')).toEqual(['\u0002', '\u001bd', '\u0005\u0015', '\u001bd', 'hd']);
});

test('arrows keep their meaning, and Return ends normal mode', () => {
  expect(translated('\u001b[A', '\u001b', '0\u001b[C', '\r', 'x')).toEqual([
    '\u001b[A',
    '\u0002',
    '\u0001\u001b[C',
    '\r',
    'x',
  ]);
});
