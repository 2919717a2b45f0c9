import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { createIds } from '../../base/ids.ts';
import { shellQuote, shortIds } from './short-names.ts';

verifies('U-04').test('a short id is a prefix by which the jobs differ', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 30 }), (steps) => {
      let time = 1_770_000_000_000;
      const next = createIds({ now: () => new Date(time) });
      const ids = steps.map((step) => {
        time += step;
        return next();
      });
      const shortened = ids.map(shortIds(ids));
      expect(new Set(shortened).size).toBe(ids.length);
      expect(ids.every((id, index) => id.startsWith(shortened[index] ?? '?'))).toBe(true);
    }),
  );
});

test('jobs a second apart keep eight characters', () => {
  const short = shortIds(['01KA1B2C3D4E5F6G7H8J9KAMNP', '01KA1B2F3D4E5F6G7H8J9KAMNP']);
  expect(short('01KA1B2C3D4E5F6G7H8J9KAMNP')).toBe('01KA1B2C');
});

test('a word is quoted only where a shell would change it', () => {
  expect(['tmux', '-t', '@last', '/a/b.c', 'two words', `it's`, '', '$HOME', '"0"#1'].map(shellQuote)).toEqual([
    'tmux',
    '-t',
    '@last',
    '/a/b.c',
    "'two words'",
    `'it'\\''s'`,
    "''",
    "'$HOME'",
    `'"0"#1'`,
  ]);
});
