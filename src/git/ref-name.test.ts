import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { checkBranch, checkOid, checkRef, checkRevision, slugOf, whyBadName, worktreeBranch } from './ref-name.ts';

const codeOf = (act: () => unknown) => {
  try {
    act();
    return 'accepted';
  } catch (error) {
    return error instanceof ReefError ? error.code : error;
  }
};
const gitAccepts = (ref: string) => spawnSync('git', ['check-ref-format', ref]).status === 0;

verifies('X-33').test('names git refuses, and names that look like options, are refused', () => {
  const bad = [
    ...[
      '',
      '@',
      '-',
      '-x',
      '--output=x',
      'a/-x',
      '.a',
      'a/.b',
      'a.',
      'a/b.',
      'a.lock',
      'a.lock/b',
      'a..b',
      'a@{b',
      '/a',
    ],
    ...[
      'a/',
      'a//b',
      'a b',
      'a\tb',
      'a\nb',
      'a\0b',
      'a\x7fb',
      'a~b',
      'a^b',
      'a:b',
      'a?b',
      'a*b',
      'a[b',
      'a\\b',
      'HEAD',
    ],
    ...['\ud800', 'a'.repeat(241), 'a/'.repeat(600)],
  ];
  const accepted = bad.filter((name) => codeOf(() => checkBranch(name)) !== 'ref_invalid');
  expect(accepted).toEqual([]);
});

test('ordinary names are accepted as they are', () => {
  const good = [
    'main',
    'feature/x',
    'reef/a-b-12345678/tip',
    'v1.0',
    'ünïcode',
    'a@b',
    '@a',
    'a-b_c+d',
    'x{y}',
    "it's",
    '$(id)',
  ];
  expect(good.map(checkBranch)).toEqual(good);
  expect(checkRef('refs/reef/held/1')).toBe('refs/reef/held/1');
});

verifies('X-33').test('a ref starts with refs/, an object id is whole, and a revision is no option', () => {
  const oid = '0123456789abcdef0123456789abcdef01234567';
  expect([oid, oid + oid.slice(0, 24)].map(checkOid)).toEqual([oid, oid + oid.slice(0, 24)]);
  expect(['main~2', 'v1.0^{tree}', '@{u}', 'HEAD'].map(checkRevision)).toEqual([
    'main~2',
    'v1.0^{tree}',
    '@{u}',
    'HEAD',
  ]);
  const refusals = [
    ...['heads/x', 'refs/', 'refs/../x', '--refs/x'].map((ref) => codeOf(() => checkRef(ref))),
    ...['abc', oid.slice(1), oid.toUpperCase(), `${oid}\n`, `-${oid.slice(1)}`].map((text) =>
      codeOf(() => checkOid(text)),
    ),
    ...['', '-x', '--output=x', 'a\nb', 'a\0b', 'x'.repeat(1_001)].map((text) => codeOf(() => checkRevision(text))),
  ];
  expect(new Set(refusals)).toEqual(new Set(['ref_invalid']));
});

const pieces = [
  'a',
  'B',
  '0',
  '/',
  '.',
  '-',
  '..',
  '@',
  '@{',
  '.lock',
  ' ',
  '~',
  '^',
  ':',
  '*',
  '[',
  '\\',
  '\x01',
  '\x7f',
  'é',
  '🐚',
  '{',
];

verifies('X-33').test('no name we accept is refused by git', () => {
  const name = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(name, (text) => whyBadName(text) !== undefined || gitAccepts(`refs/heads/${text}`)),
    { numRuns: 400 },
  );
});

test('no name git accepts is refused by us but for a leading dash, .LOCK or a trailing dot in a part', () => {
  const name = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
  const isOurs = (text: string) => text.split('/').some((part) => /^-|\.$|\.lock$/i.test(part)) || text === '@';
  fc.assert(
    fc.property(name, (text) => whyBadName(text) === undefined || isOurs(text) || !gitAccepts(`refs/heads/${text}`)),
    { numRuns: 300 },
  );
});

test('a slug is short, plain and never empty', () => {
  const titles = [
    'Fix: the Ünïcode bug!',
    '  --output=/tmp/x ',
    '../../etc',
    '',
    '日本語',
    'x'.repeat(99),
    `${'a'.repeat(39)} b`,
  ];
  expect(titles.map(slugOf)).toEqual([
    ...['fix-the-unicode-bug', 'output-tmp-x', 'etc', 'task', 'task', 'x'.repeat(40), 'a'.repeat(39)],
  ]);
});

verifies('X-109').test('whatever a task is called, its branch is a name git accepts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (title) => {
      const branch = worktreeBranch(title, '01J8ZQ4T6W3N5R7V9XABCDEFGH');
      expect(branch).toMatch(/^reef\/[a-z0-9]+(-[a-z0-9]+)*-abcdefgh\/tip$/);
    }),
    { numRuns: 10_000 },
  );
});
