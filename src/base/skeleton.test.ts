import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { SkeletonScan } from './long-line.ts';

function skeletonOf(text: string | Buffer, limit: number, pieceSize = 7, most = 1e9): string {
  const scan = new SkeletonScan(limit, most);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceSize) scan.push(bytes.subarray(at, at + pieceSize));
  return scan.text();
}

verifies('A-53').test('type, ids and usage survive, long strings are cut and say by how much', () => {
  const line = JSON.stringify({
    type: 'assistant',
    content: [{ id: 'toolu_1', text: `"${'x'.repeat(5_000)}` }, 'y'.repeat(4_096)],
    usage: { tokens: 12 },
  });
  expect(JSON.parse(skeletonOf(line, 4_096))).toEqual({
    type: 'assistant',
    content: [{ id: 'toolu_1', text: `"${'x'.repeat(4_094)}…[cut 906 bytes]` }, 'y'.repeat(4_096)],
    usage: { tokens: 12 },
  });
});

/** Drops what a cut added, so that the rest must be a start of the original. */
function isCutOf(cut: unknown, whole: unknown): boolean {
  if (typeof cut === 'string' && typeof whole === 'string') {
    if (cut === whole) return true;
    const [, start = ''] = /^(.*)…\[cut [0-9]+ bytes\]$/su.exec(cut) ?? [];
    return whole.startsWith(start) && start.length < whole.length;
  }
  if (typeof cut !== 'object' || cut === null || typeof whole !== 'object' || whole === null)
    return Object.is(cut, whole);
  const [cuts, wholes] = [Object.values(cut), Object.values(whole)];
  return cuts.length === wholes.length && cuts.every((child, index) => isCutOf(child, wholes[index]));
}

const string = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '\n', 'é', '日', '😀', '\u0001', '\ud800'),
  maxLength: 40,
});
const value = fc.letrec((tie) => ({
  any: fc.oneof(string, fc.integer(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('any'), { maxLength: 4 }),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c"', 'é'), tie('any'), { maxKeys: 4, noNullPrototype: true }),
})).any;

function asciiJson(input: unknown): string {
  return JSON.stringify(input).replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

verifies('A-53', 'Q-62').test(
  'valid JSON stays valid however it is split, and only strings over the limit change',
  () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 8, max: 60 }), fc.integer({ min: 1, max: 9 }), (input, limit, piece) => {
        for (const text of [JSON.stringify(input), asciiJson(input)]) {
          const out = JSON.parse(skeletonOf(text, limit, piece));
          expect(isCutOf(out, JSON.parse(text))).toBe(true);
          if (Buffer.byteLength(text) <= limit) expect(out).toEqual(JSON.parse(text));
        }
      }),
      { numRuns: 2_000, examples: [['\n\n\ud800\ud800\ud800日', 8, 1]] },
    );
  },
);

verifies('A-53').test('no cut leaves half a character, escape or surrogate pair', () => {
  const units = { 日: '日', '\\ud83d\\ude00': '😀', '\\n': '\n', '\\u00e9': 'é', '😀': '😀' };
  const found = Object.entries(units).flatMap(([written, meant]) =>
    [8, 9, 10, 11, 12, 13].map((limit) => {
      const [kept = ''] = (JSON.parse(skeletonOf(`"${written.repeat(20)}"`, limit)) as string).split('…');
      return (
        kept === meant.repeat(kept.length / meant.length) &&
        Buffer.byteLength(written) * (kept.length / meant.length) < limit + 16
      );
    }),
  );
  expect(found.filter((right) => !right)).toEqual([]);
});

test('bytes that are no text, or surrogates without end, are cut all the same', () => {
  const binary = Buffer.concat([Buffer.from('"'), Buffer.alloc(10_000, 0x80), Buffer.from('"')]);
  const surrogates = `"${'\\ud83d'.repeat(10_000)}"`;
  expect([skeletonOf(binary, 100).length, skeletonOf(surrogates, 100).length].every((length) => length < 200)).toBe(
    true,
  );
});

test('what is not JSON passes through as it is', () => {
  const texts = ['plain words', '{"a": "unfinished', 'tail\\', '"\\uZZ"', ''];
  expect(texts.map((text) => skeletonOf(text, 100))).toEqual(texts);
});

verifies('A-53', 'X-139').test(
  'lists lose their last entries once enough is kept, and what comes after them stays',
  () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 400 }), (piece, most) => {
        const entry = { n: 1, list: ['a,]', ['"[', {}]], s: 'é' };
        const line = JSON.stringify({
          type: 'x',
          content: Array.from({ length: 50 }, () => entry),
          usage: { tokens: 12 },
        });
        const text = skeletonOf(line, 64, piece, most);
        const { type, content, usage } = JSON.parse(text);
        expect([type, usage, content.length > 0, content.length < 50]).toEqual(['x', { tokens: 12 }, true, true]);
        expect(content.slice(0, -1)).toEqual(content.slice(0, -1).map(() => entry));
        expect(text.length).toBeLessThan(most + 200);
      }),
    );
  },
);

verifies('X-139').test('what is too deep, or made of names only, is given up', () => {
  const given = (text: string) => new SkeletonScan(8, 500).push(Buffer.from(text));
  const names = JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`k${n}`, n])));
  expect([given('['.repeat(64)), given('['.repeat(65)), given(names), given(`[${names.slice(0, 1_900)}`)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});
