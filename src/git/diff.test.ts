import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeRepository, type TestRepository } from '../../test/support/repository.ts';
import { diffRanges, diffTrees, type FileRanges } from './diff.ts';

const ten = Array.from({ length: 10 }, (_, at) => `line ${at + 1}\n`);
const lines = (change: (text: string[]) => void) => {
  const copy = [...ten];
  change(copy);
  return copy.join('');
};
const short = ({ status, path, from, lines: ranges }: FileRanges) => ({
  status,
  path,
  ...(from && { from }),
  ...(ranges && { lines: ranges }),
});

async function rangesAfter(repository: TestRepository, change: () => void) {
  const from = repository.plain('rev-parse', 'HEAD');
  change();
  const to = repository.commit('changed');
  return diffRanges(repository.git, repository.place, { from, to });
}

test('changed lines are given in coordinates of the base', async () => {
  const all = ten.join('');
  const names = ['edit', 'insert', 'head', 'tail', 'cut', 'two', 'gone', 'moved'];
  const repository = makeRepository(Object.fromEntries(names.map((name) => [name, `${all}${name}\n`])));
  const { write, place } = repository;
  const changes = await rangesAfter(repository, () => {
    const put = (name: string, change: (text: string[]) => void) => write(name, `${lines(change)}${name}\n`);
    put('edit', (text) => text.splice(3, 2, 'x\n'));
    put('insert', (text) => text.splice(5, 0, 'x\n', 'y\n'));
    put('head', (text) => text.unshift('x\n'));
    write('tail', `${all}tail\nx\n`);
    put('cut', (text) => text.splice(0, 3));
    put('two', (text) => {
      text[1] = 'x\n';
      text[8] = 'y\n';
    });
    rmSync(join(place.toplevel, 'gone'));
    rmSync(join(place.toplevel, 'moved'));
    write('to here', `${lines((text) => text.splice(6, 1))}moved\n`);
    write('new', 'one\ntwo\n');
  });
  expect(changes.map(short)).toEqual([
    { status: 'M', path: 'cut', lines: [[1, 3]] },
    { status: 'M', path: 'edit', lines: [[4, 5]] },
    { status: 'D', path: 'gone', lines: [[1, 11]] },
    { status: 'M', path: 'head', lines: [[0, 1]] },
    { status: 'M', path: 'insert', lines: [[5, 6]] },
    { status: 'A', path: 'new', lines: [[0, 1]] },
    { status: 'M', path: 'tail', lines: [[11, 12]] },
    { status: 'R', path: 'to here', from: 'moved', lines: [[7, 7]] },
    {
      status: 'M',
      path: 'two',
      lines: [
        [2, 2],
        [9, 9],
      ],
    },
  ]);
});

test('a change of type, of mode, of a binary or of a submodule puts no range on a neighbour', async () => {
  const files = { a: 'x\n', binary: 'a\0b', c: 'x\n', 'diff --git a b': '@@ -7 +7 @@\n', mode: 'x\n', z: 'x\n' };
  const { git, write, place, plain } = makeRepository(files);
  const first = plain('rev-parse', 'HEAD');
  plain('update-index', '--add', '--cacheinfo', `160000,${first},sub`);
  plain('commit', '-q', '-m', 'a submodule');
  const from = plain('rev-parse', 'HEAD');
  write('binary', 'a\0c');
  rmSync(join(place.toplevel, 'c'));
  symlinkSync('nowhere', join(place.toplevel, 'c'));
  write('diff --git a b', '@@ -1,5 +1 @@\ndiff --git a/x b/x\n');
  chmodSync(join(place.toplevel, 'mode'), 0o755);
  write('z', 'y\n');
  plain('add', 'binary', 'c', 'diff --git a b', 'mode', 'z');
  plain('update-index', '--cacheinfo', `160000,${from},sub`);
  plain('commit', '-q', '-m', 'all of it');
  const changes = await diffRanges(git, place, { from, to: plain('rev-parse', 'HEAD') });
  expect(changes.map(short)).toEqual([
    { status: 'M', path: 'binary' },
    {
      status: 'T',
      path: 'c',
      lines: [
        [1, 1],
        [0, 1],
      ],
    },
    { status: 'M', path: 'diff --git a b', lines: [[1, 1]] },
    { status: 'M', path: 'mode' },
    { status: 'M', path: 'sub' },
    { status: 'M', path: 'z', lines: [[1, 1]] },
  ]);
});

test('names are read whole and modes and blobs are told', async () => {
  const repository = makeRepository({ 'a\nb': 'x\n', 'ü "q"': 'y\n' });
  const { git, place, plain, write, commit } = repository;
  const from = plain('rev-parse', 'HEAD');
  const [old] = ['a\nb'].map((name) => plain('rev-parse', `HEAD:${name}`));
  write('a\nb', 'z\n');
  rmSync(join(place.toplevel, 'ü "q"'));
  const to = commit('x');
  const gone = plain('rev-parse', `${from}:ü "q"`);
  const none = { mode: '000000', oid: '0'.repeat(40) };
  expect(await diffTrees(git, place, { from, to })).toEqual([
    {
      status: 'M',
      path: 'a\nb',
      before: { mode: '100644', oid: old },
      after: { mode: '100644', oid: plain('rev-parse', 'HEAD:a\nb') },
    },
    { status: 'D', path: 'ü "q"', before: { mode: '100644', oid: gone }, after: none },
  ]);
});

test('no configuration of a repository changes what is read', async () => {
  const repository = makeRepository({ a: ten.join(''), b: ten.join('') });
  const settings = {
    'diff.noprefix': 'true',
    'diff.context': '9',
    'diff.interHunkContext': '9',
    'diff.renames': 'false',
    'color.ui': 'always',
  };
  for (const [key, value] of Object.entries({ ...settings, 'diff.orderFile': 'order', 'core.abbrev': '4' }))
    repository.plain('config', key, value);
  const changes = await rangesAfter(repository, () => {
    repository.write('order', 'b\na\n');
    repository.write(
      'a',
      lines((text) => text.splice(1, 1, 'x\n')),
    );
    repository.write(
      'b',
      lines((text) => text.splice(7, 1, 'x\n')),
    );
  });
  expect(changes.map(short)).toEqual([
    { status: 'M', path: 'a', lines: [[2, 2]] },
    { status: 'M', path: 'b', lines: [[8, 8]] },
    { status: 'A', path: 'order', lines: [[0, 1]] },
  ]);
});

test('every line that differs from the base lies in a range', async () => {
  const repository = makeRepository({ f: ten.join('') });
  const base = repository.plain('rev-parse', 'HEAD');
  const edit = fc.record({
    at: fc.nat(9),
    cut: fc.nat(2),
    put: fc.array(fc.constantFrom('x', 'y', 'line 3'), { maxLength: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      repository.plain('checkout', '-q', '--detach', base);
      const text = ten.map((line, at) => ({ line, base: at + 1 }));
      for (const { at, cut, put } of edits)
        text.splice(at, cut, ...put.map((line) => ({ line: `${line}\n`, base: 0 })));
      repository.write('f', text.map(({ line }) => line).join(''));
      const to = repository.commit('x');
      const [change] = await diffRanges(repository.git, repository.place, { from: base, to });
      const now = new Set(text.map(({ line }) => line));
      const lost = ten.map((line, at) => (now.has(line) ? 0 : at + 1)).filter(Boolean);
      const isCovered = (line: number) => (change?.lines ?? []).some(([first, last]) => first <= line && line <= last);
      expect(lost.filter((line) => !isCovered(line))).toEqual([]);
    }),
    { numRuns: 15 },
  );
});
