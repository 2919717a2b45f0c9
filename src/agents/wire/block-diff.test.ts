import { expect, test } from 'vitest';
import { blockDiff } from './block-diff.ts';

test('a diff shows what lies between the first and the last change, with three lines around it', () => {
  const before = '1\n2\n3\n4\n5\n6\n7\n8\n9\n';
  expect([
    blockDiff(before, before.replace('5', 'five').replace('6', 'six')),
    blockDiff('', 'a\n'),
    blockDiff('a\nb', 'a\n'),
    blockDiff('same', 'same'),
  ]).toEqual([
    '@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n-6\n+five\n+six\n 7\n 8\n 9\n',
    '@@ -0,0 +1,1 @@\n+a\n',
    '@@ -1,2 +1,1 @@\n a\n-b\n\\ No newline at end of file\n',
    '',
  ]);
});
