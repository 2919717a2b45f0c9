import { expect, test } from 'vitest';
import { matchesWildcard, pathFilter } from './glob.ts';

test('a pattern for paths means what it says, and is fast', () => {
  const table: [string, string, boolean][] = [
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'a/b/c.ts', true],
    ['src/**', 'src/a/b', true],
    ['src/*', 'src/a/b', false],
    ['*.ts', 'a/b.ts', false],
    ['./a?.{ts,js}', 'ab.js', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'a/x/y/c', false],
    [`${'**/'.repeat(30)}z`, `${'a/'.repeat(60)}y`, false],
  ];
  expect(table.map(([pattern, path]) => [pattern, path, pathFilter(pattern)(path)])).toEqual(table);
  expect(() => pathFilter('{a,b}{c,d}'.repeat(20))).toThrow('more than 64 alternatives');
});

test('a wildcard matches with stars and question marks, fast on any pattern', () => {
  expect([
    matchesWildcard('a*c', 'abbbc'),
    matchesWildcard('a?c', 'abc'),
    matchesWildcard('a?c', 'abbc'),
    matchesWildcard('*', ''),
    matchesWildcard('', 'a'),
    matchesWildcard(`${'a*'.repeat(50)}b`, 'a'.repeat(5_000)),
    matchesWildcard('a.c', 'abc'),
    matchesWildcard('a*', 'a\nb'),
  ]).toEqual([true, true, false, true, false, false, false, true]);
});
