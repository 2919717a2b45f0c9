import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { capJson, capText } from './cap.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'é', '日', '😀', '"', '\n', '\u0001', '\ud800'), maxLength: 300 });

test('text within its budget is untouched, longer text says how much is missing and where it is', () => {
  expect([capText('déjà', 6), capText('x'.repeat(100), 40), capText('日'.repeat(40), 50, 'out@12')]).toEqual([
    'déjà',
    `${'x'.repeat(22)}…[cut 78 bytes]`,
    '日日日日…[cut 108 bytes; the rest: out@12]',
  ]);
});

verifies('X-60').test('cut text never passes its budget and never ends in half a character', () => {
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 0, max: 400 }),
      fc.option(fc.constant('out@99'), { nil: undefined }),
      (whole, max, rest) => {
        const cut = capText(whole, max, rest);
        const [start = ''] = cut === whole ? [whole] : cut.split('…[cut ');
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        expect(whole.startsWith(start)).toBe(true);
        if (whole.isWellFormed()) expect(cut.isWellFormed()).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});

verifies('X-60').test('a payload keeps its short fields whole while its longest strings share the room', () => {
  const payload = {
    id: 'toolu_1',
    n: 3,
    text: 'x'.repeat(100_000),
    more: [{ out: 'y'.repeat(50_000), kind: 'z'.repeat(500) }],
  };
  const capped = capJson(payload, 64 * 1024, 'out@7') as typeof payload;
  expect({
    ...capped,
    text: capped.text.replace(/^x+/, 'x'),
    more: capped.more.map((entry) => ({ ...entry, out: entry.out.replace(/^y+/, 'y') })),
  }).toEqual({
    id: 'toolu_1',
    n: 3,
    text: expect.stringMatching(/^x…\[cut 6\d{4} bytes; the rest: out@7\]$/),
    more: [{ out: expect.stringMatching(/^y…\[cut 1\d{4} bytes; the rest: out@7\]$/), kind: 'z'.repeat(500) }],
  });
  const size = Buffer.byteLength(JSON.stringify(capped));
  expect(size).toBeLessThanOrEqual(64 * 1024);
  expect(size).toBeGreaterThan(63 * 1024);
});

test('a payload within its budget is the same object', () => {
  const payload = { a: [1, 2, { b: 'c' }] };
  expect(capJson(payload, 100)).toBe(payload);
});

verifies('X-60').test('too many small entries are cut by number, and later fields are not starved by the first', () => {
  const payload = { list: Array.from({ length: 100_000 }, (_, n) => n), map: { a: 'b' }, type: 'last' };
  const capped = capJson(payload, 1_000) as { list: unknown[]; map: unknown; type: string };
  expect({ ...capped, list: [capped.list[0], capped.list.at(-1)] }).toEqual({
    list: [0, expect.stringMatching(/^\[cut 99\d{3} entries\]$/)],
    map: { a: 'b' },
    type: 'last',
  });
  expect(Buffer.byteLength(JSON.stringify(capped))).toBeLessThanOrEqual(1_000);
});

const json = fc.letrec((tie) => ({
  any: fc.oneof(
    { weight: 3, arbitrary: text },
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constant(null),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('any'), { maxLength: 30 }),
  object: fc.dictionary(text, tie('any'), { maxKeys: 30, noNullPrototype: true }),
}));

verifies('X-60').test('any payload fits into any budget from 64 bytes on, as valid JSON', () => {
  fc.assert(
    fc.property(
      json.object as fc.Arbitrary<Record<string, unknown>>,
      fc.integer({ min: 64, max: 4_000 }),
      (payload, max) => {
        const written = JSON.stringify(capJson(payload, max, 'jobs/01J/out@123'));
        expect(Buffer.byteLength(written)).toBeLessThanOrEqual(max);
        expect(typeof JSON.parse(written)).toBe('object');
      },
    ),
    { numRuns: 1_000 },
  );
});

test('sixteen megabytes in one string, in many, or in keys are cut without a long search', () => {
  const payloads = [
    { one: '\u0001"\\é'.repeat(3_000_000) },
    { many: Array.from({ length: 4_000 }, () => 'x'.repeat(4_000)) },
    Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`${n}${'k'.repeat(4_000)}`, 1])),
  ];
  const sizes = payloads.map((payload) => Buffer.byteLength(JSON.stringify(capJson(payload, 64 * 1024))));
  expect(sizes.map((size) => size > 32 * 1024 && size <= 64 * 1024)).toEqual([true, true, true]);
});
