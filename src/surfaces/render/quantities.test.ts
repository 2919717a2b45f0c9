import { expect, test } from 'vitest';
import { cost, duration, parseDuration, tokens } from './quantities.ts';

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, costUsd: null, partial: false };

test('durations show their two largest parts', () => {
  const ms = [0, 59_999, 60_000, 3_599_000, 3_600_000, 7_500_000, 86_400_000, 200_000_000, -5];
  expect(ms.map(duration)).toEqual(['0s', '59s', '1m00s', '59m59s', '1h00m', '2h05m', '1d00h', '2d07h', '0s']);
});

test('times are read with a unit, or as seconds', () => {
  expect(['45s', '30m', '2h', '1d', '90'].map((text) => parseDuration(text, '--timeout'))).toEqual([
    45_000, 1_800_000, 7_200_000, 86_400_000, 90_000,
  ]);
  for (const wrong of ['', 'soon', '1.5h', '-1s', '5 m', '1w']) {
    expect(() => parseDuration(wrong, '--timeout')).toThrow('--timeout: expected a time');
  }
});

test('tokens are shortened, and what is known in part is marked', () => {
  const counts = [0, 999, 1_000, 999_949, 999_950, 12_345_678];
  expect(counts.map((input) => tokens({ ...usage, input }))).toEqual(['–', '999', '1.0k', '999.9k', '1.0M', '12.3M']);
  expect(tokens({ ...usage, output: 5, partial: true })).toBe('≥5');
});

test('an unknown cost is not 0', () => {
  expect([null, 0, 0.004, 1.255].map((costUsd) => cost({ ...usage, costUsd }))).toEqual([
    '–',
    '$0.00',
    '<$0.01',
    '$1.25',
  ]);
});
