import { expect } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { Deaths } from './deaths.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function deathsOf(offMs = MINUTE) {
  let now = 0;
  const deaths = new Deaths({ monotonicMs: () => now }, { windowMs: MINUTE, offMs, delaysMs: [200, 1_000, 5_000] });
  const at = (seconds: number) => {
    now = seconds * SECOND;
    return deaths;
  };
  return { deaths, at };
}

verifies('C-077').test('deaths that follow each other are waited for longer, and a quiet minute forgives', () => {
  const { at } = deathsOf();
  const waits = [0, 50, 100, 150, 300].map((seconds) => at(seconds).note('a'));
  expect([waits, at(300).offFor('a'), at(0).note('b')]).toEqual([[200, 1_000, 5_000, 5_000, 200], 0, 200]);
});

verifies('C-077').test('the third death within a minute turns a server off for a minute, and no other', () => {
  const { deaths, at } = deathsOf();
  const waits = [0, 1, 59].map((seconds) => at(seconds).note('a'));
  const left = [59, 118, 119].map((seconds) => at(seconds).offFor('a'));
  expect([waits, left, at(0).offFor('b')]).toEqual([[200, 1_000, MINUTE], [MINUTE, SECOND, 0], 0]);
  at(60);
  deaths.forget((key) => key === 'a');
  expect(deaths.offFor('a')).toBe(0);
});

verifies('R-35').test('a server that is off for good stays off, whatever dies later, until it is forgotten', () => {
  const { deaths, at } = deathsOf(Number.POSITIVE_INFINITY);
  for (const seconds of [0, 1, 2, 200]) at(seconds).note('a');
  const before = deaths.offFor('a');
  deaths.forget(() => true);
  expect([before, deaths.offFor('a')]).toEqual([Number.POSITIVE_INFINITY, 0]);
});
