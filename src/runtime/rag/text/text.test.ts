import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { Spelling } from './spelling.ts';
import { splitDocument } from './split.ts';
import { stem, termsOf, wordsOf } from './words.ts';

verifies('R-44').test('the forms of a word have one stem', () => {
  const families = [
    'rotate rotates rotated rotating rotation rotator',
    'configure configured configuring configuration',
    'connect connection connected connector connects',
    'retry retries retried retrying',
    'authorize authorized authorization',
    'index indexes indexed indexing',
    'manage manager management managing',
    'run runs running runner',
    'compress compression compressed compresses',
    'class classes',
  ];
  expect(families.map((family) => new Set(family.split(' ').map(stem)).size)).toEqual(families.map(() => 1));
});

test('a stem is never empty and words of other alphabets stay whole', () => {
  fc.assert(fc.property(fc.stringMatching(/^[a-z]{1,20}$/), (word) => stem(word).length > 0));
  expect(['schlüssel', 'ключи', '鍵', 'sha256'].map(stem)).toEqual(['schlüssel', 'ключи', '鍵', 'sha256']);
});

verifies('R-44').test('identifiers fall apart at their seams', () => {
  expect([
    wordsOf('parseHTTPResponse2xx'),
    wordsOf('MAX_idle-servers.count'),
    wordsOf('Überprüfung naïve'),
    termsOf('what is the'),
    termsOf('how are the keys rotated'),
  ]).toEqual([
    ['parse', 'http', 'response', '2', 'xx'],
    ['max', 'idle', 'servers', 'count'],
    ['uberprufung', 'naive'],
    ['what', 'is', 'the'],
    ['key', 'rot'],
  ]);
});

verifies('R-44').test(
  'a misspelt word finds the nearest, the most used first; short words and numbers find none',
  () => {
    const spelling = new Spelling([
      { word: 'rotate', uses: 5 },
      { word: 'rotated', uses: 9 },
      { word: 'notated', uses: 1 },
      { word: 'key', uses: 50 },
      { word: 'migration', uses: 3 },
    ]);
    expect(['rotatd', 'kye', 'migratoin', 'mgratoin', 'zebra', '12345'].map((word) => spelling.nearest(word))).toEqual([
      ['rotated', 'rotate'],
      [],
      ['migration'],
      ['migration'],
      [],
      [],
    ]);
  },
);

test('every word with one letter changed is near to itself', () => {
  const letters = fc.stringMatching(/^[a-z]{5,12}$/);
  fc.assert(
    fc.property(letters, fc.nat(), fc.stringMatching(/^[a-z]$/), (word, place, letter) => {
      const at = place % word.length;
      const misspelt = word.slice(0, at) + letter + word.slice(at + 1);
      expect(new Spelling([{ word, uses: 1 }]).nearest(misspelt)).toEqual([word]);
    }),
  );
});

verifies('R-46').test('chunks without overlap are the document, none larger than asked for', () => {
  const text = fc
    .array(fc.oneof(fc.string(), fc.constantFrom('\n\n', '\n# ', '\nfunction ', ' ', '. ', '😀')))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 2, max: 60 }),
      fc.constantFrom('a.md', 'a.ts', 'a.txt'),
      (document, size, source) => {
        const chunks = splitDocument(document, source, { size, overlap: 0 });
        const strip = (value: string) => value.replace(/\s/g, '');
        expect(strip(chunks.join(''))).toBe(strip(document));
        expect(chunks.every((chunk) => chunk.length <= size)).toBe(true);
      },
    ),
  );
});

verifies('R-46').test(
  'prose is cut at headings and code at definitions, and a chunk begins with the end of the one before',
  () => {
    const markdown = '# One\nfirst part\n# Two\nsecond part\n# Three\nthird part';
    const code = 'import a;\nexport function one() {}\nexport function two() {}\n';
    expect({
      markdown: splitDocument(markdown, 'a.md', { size: 25, overlap: 0 }),
      code: splitDocument(code, 'a.ts', { size: 30, overlap: 0 }),
      overlap: splitDocument('aa bb cc dd ee', 'a.txt', { size: 8, overlap: 3 }),
    }).toEqual({
      markdown: ['# One\nfirst part', '\n# Two\nsecond part', '\n# Three\nthird part'],
      code: ['import a;', '\nexport function one() {}', '\nexport function two() {}\n'],
      overlap: ['aa bb cc', ' cc dd', ' dd ee'],
    });
  },
);
