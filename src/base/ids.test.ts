import fc from 'fast-check';
import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createIds, isId } from './ids.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function encodeHex(...halves: string[]): string {
  const bits = halves.map((half) => BigInt(`0x${half}`).toString(2).padStart(40, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

test('ids are 26 characters whose first ten are the time', () => {
  const clock = manualClock(new Date(1_469_918_176_385));
  const id = createIds(clock)();
  expect({ length: id.length, time: id.slice(0, 10), valid: isId(id) }).toEqual({
    length: 26,
    time: '01ARYZ6S41',
    valid: true,
  });
});

verifies('Q-70').test('ids of one process only grow, whatever the wall clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -86_400_000, max: 86_400_000 }), { maxLength: 50 }), (jumps) => {
      const clock = manualClock();
      const next = createIds(clock);
      const ids = [next(), next()];
      for (const jump of jumps) {
        clock.jumpWall(jump);
        ids.push(next());
      }
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(ids.length);
    }),
  );
});

test('two processes in the same millisecond make different ids, a hundred thousand of them', () => {
  const clock = manualClock();
  const makers = [createIds(clock), createIds(clock)];
  const ids = new Set(Array.from({ length: 100_000 }, (_, n) => makers[n % 2]?.()));
  expect(ids.size).toBe(100_000);
});

test('what is no id is told apart', () => {
  const id = createIds(manualClock())();
  const wrong = ['', id.slice(1), `${id}0`, id.toLowerCase(), `${id.slice(0, 25)}I`, `8${id.slice(1)}`, `${id}\n`];
  expect(wrong.map(isId)).toEqual(wrong.map(() => false));
});

test('when chance has given the last number of a millisecond, the next is borrowed from the time', () => {
  const clock = manualClock(new Date(31));
  const next = createIds(clock, (size) => Buffer.alloc(size, 0xff));
  const carry = createIds(clock, () => Buffer.from('00000000ffffffffffff', 'hex'));
  expect([next(), next(), carry(), carry()]).toEqual([
    `000000000Z${'Z'.repeat(16)}`,
    `0000000010${'Z'.repeat(16)}`,
    '000000000Z'.concat(encodeHex('00000000ff', 'ffffffffff')),
    '000000000Z'.concat(encodeHex('0000000100', '0000000000')),
  ]);
});
