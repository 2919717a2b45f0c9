import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { printable, withoutColours } from './printable.ts';

/** Written out apart from the code under test: C0 less tab and newline, DEL, C1, bidi, zero-width and other invisibles. */
const FORBIDDEN: [number, number][] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff],
];

function survivors(text: string): string[] {
  return [...text].filter((character) => {
    const code = character.codePointAt(0) ?? 0;
    return FORBIDDEN.some(([low, high]) => code >= low && code <= high);
  });
}

const hostile = fc.oneof(
  ...FORBIDDEN.map(([low, high]) => fc.integer({ min: low, max: high }).map((code) => String.fromCodePoint(code))),
);
const text = fc.array(fc.oneof(hostile, fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\t', '\r\n', '✔️', 'é')));

verifies('X-51', 'X-121').test(
  'no control, bidi or invisible character survives, and a second pass changes nothing',
  () => {
    fc.assert(
      fc.property(text, (pieces) => {
        const shown = printable(pieces.join(''));
        expect(survivors(shown)).toEqual([]);
        expect(printable(shown)).toBe(shown);
      }),
      { numRuns: 2_000 },
    );
  },
);

verifies('X-51').test('every single forbidden character is made visible', () => {
  const silent: string[] = [];
  for (const [low, high] of FORBIDDEN) {
    for (let code = low; code <= high; code++) {
      const shown = printable(`a${String.fromCodePoint(code)}b`);
      if (shown.length <= 2 || survivors(shown).length > 0) silent.push(code.toString(16));
    }
  }
  expect(silent).toEqual([]);
});

verifies('X-51').test('escape sequences, links and hidden text become plain words', () => {
  const table = {
    '\x1b[31mred\x1b[0m': '␛[31mred␛[0m',
    'x\x1b]8;;http://evil\x07y\x1b]8;;\x07': 'x␛]8;;http://evil␇y␛]8;;␇',
    '\x9b2Jgone': '<U+009B>2Jgone',
    'rm -rf /\rls      ': 'rm -rf /␍ls      ',
    'user\u202etxt.exe': 'user<U+202E>txt.exe',
    'zero\u200bwidth\ufeff': 'zero<U+200B>width<U+FEFF>',
    '\u{e0041}tag': '<U+E0041>tag',
    'lone\ud800': 'lone<U+D800>',
    'a\r\nb\tc\n': 'a\nb\tc\n',
  };
  expect(Object.fromEntries(Object.keys(table).map((key) => [key, printable(key)]))).toEqual(table);
});

test('of a log only colours are taken away, and what hides behind them is seen', () => {
  const log = '\x1b[90m    at f\x1b[39m \x1b[38;2;1;2;3mx\x1b[0m \x1b[2K \x1b[8mhidden\x1b[m \x1b[\x1b[31m31m';
  expect(printable(withoutColours(log))).toBe('    at f x ␛[2K hidden ␛[31m');
});

test('ordinary text of all languages and simple pictures stay readable', () => {
  const plain = 'Straße, naïve, 日本語, العربية, हिन्दी, e\u0301, 😀 👍🏽 – “quotes” …';
  expect(printable(plain)).toBe(plain);
  expect(printable('✔️ ⚠️ 👩‍💻 🏳️‍🌈')).toBe('✔ ⚠ 👩💻 🏳🌈');
});

test('a megabyte of what it looks for takes linear time', () => {
  const worst = ['\u200d', '✔\ufe0f\u200d', '\r', '\x1b['].map((unit) => unit.repeat(200_000));
  expect(worst.map((input) => survivors(printable(withoutColours(input))).length)).toEqual([0, 0, 0, 0]);
});
