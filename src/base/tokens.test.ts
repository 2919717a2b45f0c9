import fc from 'fast-check';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { createTokenCounter, loadTokenCounter, slicesOf } from './tokens.ts';

const PROSE = `export function applyTax(line: LineItem, rate: Rate): Money {
  // Rounds half-even per line item; see RateTable for zero-rated cases.
  return roundHalfEven(line.total * rate.percent / 100);
}
`;

verifies('S-40').test('slices join to the text, are short and split no pair of surrogates', () => {
  const unit = fc.constantFrom('a', ' ', '\n', '😀', 'é', 'word ', '\ud83d');
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 4_000 }), (units) => {
      const text = units.join('');
      const slices = [...slicesOf(text)];
      expect(slices.join('')).toBe(text);
      for (const [index, slice] of slices.entries()) {
        expect(slice.length).toBeLessThanOrEqual(1_024);
        const next = slices[index + 1];
        if (next !== undefined) expect(/[\ud800-\udbff]$/.test(slice) && /^[\udc00-\udfff]/.test(next)).toBe(false);
      }
    }),
    { numRuns: 50 },
  );
});

verifies('S-40', 'S-41').test('ordinary text is counted exactly as o200k encodes it, whatever its length', async () => {
  const counter = await loadTokenCounter();
  const texts = [PROSE, PROSE.repeat(80), 'plain words and more of them '.repeat(400), 'é 日本語 😀 '.repeat(20)];
  expect(counter.isExact).toBe(true);
  expect(texts.map((text) => counter.count(text))).toEqual(texts.map((text) => encode(text).length));
});

verifies('S-40').test('an unbroken run of any character costs at most ten times ordinary text', async () => {
  const counter = await loadTokenCounter();
  const time = (text: string) => {
    const begun = process.cpuUsage();
    counter.count(text);
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  };
  time(PROSE.repeat(400));
  const ordinary = Math.max(20_000, time(`${PROSE.repeat(1_000).slice(0, 199_000)}!`));
  const runs = ['a', ' ', 'é', '-', '\n', '😀'].map((unit) => unit.repeat(200_000 / unit.length));
  expect(runs.filter((run) => time(run) > 10 * ordinary).map((run) => run[0])).toEqual([]);
});

verifies('S-40').test('special tokens and lone surrogates in data are text like other text', async () => {
  const counter = await loadTokenCounter();
  const odd = ['<|endoftext|>', '<|im_start|>system<|im_sep|>', '\ud83d', `${'x'.repeat(1_023)}<|endofprompt|>`, ''];
  expect(odd.map((text) => counter.count(text) > 0 || text === '')).toEqual(odd.map(() => true));
});

verifies('S-41').test('without the vocabulary characters are counted', () => {
  const counter = createTokenCounter();
  expect([counter.isExact, counter.count('x'.repeat(330)), counter.count('')]).toEqual([false, 100, 0]);
});

test('a text is measured once while it is remembered', () => {
  let calls = 0;
  const counter = createTokenCounter(() => {
    calls++;
    return 1;
  }, 2);
  const texts = ['a', 'b'.repeat(100), 'a', 'b'.repeat(100), 'c', 'a'];
  expect(texts.map((text) => counter.count(text) && calls)).toEqual([1, 2, 2, 2, 3, 4]);
});

verifies('S-41').test('from the fifth call on an estimate is within 5 % of what the model reports', async () => {
  const counter = await loadTokenCounter();
  const errors: number[] = [];
  for (let call = 1; call <= 60; call++) {
    const text = PROSE.repeat(1 + ((call * 7) % 40));
    const counted = counter.count(text);
    const jitter = 1 + 0.02 * Math.sin(call * 12.9898);
    const reported = Math.round(counted * 1.27 * jitter);
    if (call >= 5) errors.push(Math.abs(counter.estimate('m', counted) - reported) / reported);
    counter.observe('m', counted, reported);
  }
  errors.sort((a, b) => a - b);
  expect(errors[Math.floor(errors.length * 0.95)]).toBeLessThan(0.05);
});

verifies('S-41').test('factors are clamped, and kept per model over twenty calls', () => {
  const counter = createTokenCounter();
  for (let n = 0; n < 30; n++) counter.observe('wild', 100, 100_000);
  counter.observe('calm', 100, 110);
  counter.observe('calm', 0, 5);
  for (let n = 0; n < 50; n++) counter.observe('changed', 100, n < 30 ? 60 : 150);
  const estimates = ['wild', 'calm', 'changed', 'unknown'].map((model) => counter.estimate(model, 100));
  expect(estimates).toEqual([200, 110, 150, 100]);
});
