import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import { safeParts } from './safe-path.ts';

function outcome(path: string): string[] | string {
  try {
    return safeParts(path);
  } catch (error) {
    return error instanceof ReefError ? error.code : String(error);
  }
}

verifies('X-40').test('absolute paths, "..", control bytes and over-long paths are refused', () => {
  const refused = [
    '/etc/passwd',
    '..',
    '../x',
    'a/../../x',
    'a/..',
    'a/../b',
    './..',
    'a\0b',
    'a\nb',
    'a\x1b[0m',
    'a\x7f',
    'a\x85',
    'a\ud800',
    'x'.repeat(4_097),
    'é'.repeat(2_049),
  ];
  expect(refused.map(outcome)).toEqual(refused.map(() => 'path_outside_worktree'));
});

verifies('X-40').test('the folders of git and Reef are refused however they are spelt', () => {
  const refused = [
    '.git',
    '.git/config',
    'sub/.git/hooks/pre-commit',
    '.GIT/config',
    '.Git',
    '.reef/state.json',
    '.REEF',
    '.g\u200cit/config',
    '.\u200dreef',
    '.gi\ufefft',
    '.git\u00ad',
    '.g\u0131t',
    '.ｇｉｔ',
    '.git.',
    '.git ',
    '.git. .',
    '.re\u{e0066}ef',
  ];
  expect(refused.map(outcome)).toEqual(refused.map(() => 'path_outside_worktree'));
});

test('ordinary names are taken, also odd ones', () => {
  const table = {
    '': [],
    '.': [],
    'a//b/./c/': ['a', 'b', 'c'],
    '...': ['...'],
    '..a/b..': ['..a', 'b..'],
    '.gitignore': ['.gitignore'],
    '.github/x': ['.github', 'x'],
    'git/reef': ['git', 'reef'],
    'C:\\x': ['C:\\x'],
    '-rf': ['-rf'],
    '日本 é/😀': ['日本 é', '😀'],
    '~/x': ['~', 'x'],
    ['x'.repeat(4_096)]: ['x'.repeat(4_096)],
  };
  expect(Object.fromEntries(Object.keys(table).map((path) => [path, outcome(path)]))).toEqual(table);
});

test('a refusal shows a hostile path harmlessly and not at length', () => {
  expect(() => safeParts(`/\x1b[2J${'x'.repeat(5_000)}`)).toThrow(
    /^The path "\/\\u001b\[2Jx{195}" is longer than 4096 bytes\.$/,
  );
});
