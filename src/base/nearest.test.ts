import { expect, test } from 'vitest';
import { nearestName, slipsBetween } from './nearest.ts';

test('the nearest name is the one with the fewest changes, and none when more than a third differs', () => {
  const names = ['stream', 'theme', 'Build', 'shad'];
  expect(['straem', 'thme', 'bild', 'sahd', 'unlike', 'x'].map((wrong) => nearestName(wrong, names))).toEqual([
    'stream',
    'theme',
    'Build',
    'shad',
    undefined,
    undefined,
  ]);
});

test('slips of the pen are counted', () => {
  const pairs: [string, string][] = [
    ['rotated', 'rotated'],
    ['rotatd', 'rotated'],
    ['roatted', 'rotated'],
    ['rotaded', 'rotated'],
    ['rotatedd', 'rotated'],
    ['rtaed', 'rotated'],
    ['rtaetd', 'rotated'],
    ['whale', 'rotated'],
  ];
  expect(pairs.map(([a, b]) => slipsBetween(a, b))).toEqual([0, 1, 1, 1, 1, 2, 2, 5]);
});
