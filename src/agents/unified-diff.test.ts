import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { unifiedDiff } from './unified-diff.ts';

describe('a unified diff', () => {
  test('shows a change with three lines around it and its place', () => {
    const before = '1\n2\n3\n4\n5\n6\n7\n8\n';
    expect(unifiedDiff(before, before.replace('5', 'five'))).toBe(
      '@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n',
    );
  });

  test('shows a new file and an emptied one', () => {
    expect([unifiedDiff('', 'a\nb\n'), unifiedDiff('a\n', '')]).toEqual([
      '@@ -0,0 +1,2 @@\n+a\n+b\n',
      '@@ -1,1 +0,0 @@\n-a\n',
    ]);
  });

  test('says that the last newline is missing', () => {
    expect(unifiedDiff('a\n', 'a')).toBe('@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n');
  });

  test('leaves out what lies far between two changes', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `${at}\n`);
    const changed = lines.with(1, 'one\n').with(18, 'eighteen\n');
    expect(unifiedDiff(lines.join(''), changed.join(''))).toBe(
      '@@ -1,5 +1,5 @@\n 0\n-1\n+one\n 2\n 3\n 4\n@@ -16,5 +16,5 @@\n 15\n 16\n 17\n-18\n+eighteen\n 19\n',
    );
  });

  test('is empty for equal texts and bounded for large different ones', () => {
    const many = (word: string) => Array.from({ length: 20_000 }, (_, at) => `${word}${at % 7}\n`).join('');
    expect(unifiedDiff('same\n', 'same\n')).toBe('');
    expect(unifiedDiff(many('a'), many('b')).split('\n')).toHaveLength(40_002);
    expect(unifiedDiff('', 'a\n'.repeat(5_000))).toMatch(/^@@ -0,0 \+1,5000 @@\n\+a\n/);
  });
});

verifies('X-139').test('what lies before and after the changes of a large file costs no search', () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `${at}\n`);
  const changed = lines.with(40_000, 'changed\n').join('');
  expect(unifiedDiff(lines.join(''), changed)).toBe(
    '@@ -39998,7 +39998,7 @@\n 39997\n 39998\n 39999\n-40000\n+changed\n 40001\n 40002\n 40003\n',
  );
  // Nothing in common but the amount: the search for the shortest diff would take seconds.
  const [one, other] = [3, 7].map((step) => lines.map((_, at) => `${(at * step) % 10}\n`).join(''));
  expect(unifiedDiff(one ?? '', other ?? '')).toMatch(/^@@ -1,\d+ \+1,\d+ @@\n(?: .\n){0,4}-/);
});

describe('git apply', () => {
  const folder = temporaryFolder();

  test('turns the old text into the new one with any diff', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ' ', ''), { minLength: 1, maxLength: 25 })
      .chain((lines) => fc.constantFrom('', '\n').map((end) => lines.join('\n') + end));
    const property = fc.property(text, text, (before, after) => {
      const diff = unifiedDiff(before, after);
      if (before === after) return diff === '';
      // git takes an empty text for an absent file.
      if (before === '' || after === '') return true;
      writeFileSync(join(folder, 'f'), before);
      const patch = `--- a/f\n+++ b/f\n${diff}`;
      execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: folder, input: patch });
      return readFileSync(join(folder, 'f'), 'utf8') === after;
    });
    fc.assert(property, { numRuns: 60 });
  });
});
