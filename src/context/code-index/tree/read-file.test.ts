import { expect, test } from 'vitest';
import { Scratch } from './read-file.ts';

test('one file after the other is read into the same memory; that of a large one is given back when the next comes', () => {
  const { room } = new Scratch();
  const [small, other] = [room(10), room(20)];
  const large = room(3 * 1024 * 1024);
  expect([other.buffer === small.buffer, large.length]).toEqual([true, 3 * 1024 * 1024]);
  const after = room(30);
  expect([after.buffer === small.buffer, large.length]).toEqual([true, 0]);
});
