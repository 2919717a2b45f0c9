import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { wordHits } from './hits.ts';
import { candidateHashes, holds, partHash, partsOf, SketchBuilder, wordHashes } from './sketch.ts';

const WORD = /[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]+/g;
const piece = fc.oneof(
  fc.constantFrom(
    'getQuerySet',
    'HTTPServer',
    '$name',
    'snake_case',
    'x',
    '_',
    '3px',
    '—',
    'größe',
    '\n',
    ' ',
    '.',
    '"',
    '0xff',
    'utf8Decode',
  ),
  fc.string({ maxLength: 8 }),
);
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

verifies('C-010').test('a sketch is sorted, distinct, and holds every word and every part of it', () => {
  const builder = new SketchBuilder();
  fc.assert(
    fc.property(text, (source) => {
      const bytes = Buffer.from(source, 'utf8');
      const sketch = builder.sketch(bytes);
      expect([...sketch]).toEqual([...new Set(sketch)].sort((a, b) => a - b));
      for (const [word] of bytes.toString('latin1').matchAll(WORD)) {
        const plain = Buffer.from(word, 'latin1').toString('utf8');
        for (const hash of wordHashes(plain)) expect(holds(sketch, hash), plain).toBe(true);
        for (const part of partsOf(plain)) expect(holds(sketch, partHash(part)), part).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});

verifies('C-011').test('wherever a name stands as a whole word, its file is a candidate', () => {
  const builder = new SketchBuilder();
  fc.assert(
    fc.property(
      text,
      fc.constantFrom('getQuerySet', 'name', '$name', 'größe', 'case', 'px', 'Server'),
      (source, name) => {
        const bytes = Buffer.from(source, 'utf8');
        const isCandidate = candidateHashes(name).every((hash) => holds(builder.sketch(bytes), hash));
        for (const isDollarInNames of [true, false]) {
          if (wordHits(bytes, { name, isDollarInNames }).count > 0) expect(isCandidate).toBe(true);
        }
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a scratch table that grows forgets nothing, and the next file begins empty', () => {
  const builder = new SketchBuilder();
  const words = Array.from({ length: 30_000 }, (_, at) => `word${at}x`);
  const sketch = builder.sketch(Buffer.from(words.join(' ')));
  expect(words.filter((word) => !wordHashes(word).every((hash) => holds(sketch, hash)))).toEqual([]);
  expect(builder.sketch(Buffer.from('a'))).toEqual(new Uint32Array());
});

test('names fall into humps, capitals and joints', () => {
  expect(partsOf('getQuerySet HTTPServer snake_case_x utf8Decode $foo')).toEqual([
    ...['get', 'query', 'set', 'http', 'server', 'snake', 'case', 'utf8', 'decode', 'foo'],
  ]);
});

test('a hit knows its line and its column in UTF-16 units, and a word that goes on is none', () => {
  const bytes = Buffer.from('let 𝒳 = name;\n\tnames, name2, rename, über—name\n$name', 'utf8');
  const hits = [...wordHits(bytes, { name: 'name', isDollarInNames: true })].map(({ line, column }) => [line, column]);
  const shell = [...wordHits(bytes, { name: 'name', isDollarInNames: false })].map(({ line, column }) => [
    line,
    column,
  ]);
  expect([hits, shell]).toEqual([
    [
      [1, 9],
      [2, 28],
    ],
    [
      [1, 9],
      [2, 28],
      [3, 1],
    ],
  ]);
});
