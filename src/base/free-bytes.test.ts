import { expect, test } from 'vitest';
import { freeBytes } from './free-bytes.ts';

test('bytes with memory of their own are gone, those of a shared piece are not', () => {
  const own = new Uint8Array(1_000_000).fill(1);
  const piece = new Uint8Array(new ArrayBuffer(16), 4, 4).fill(2);
  freeBytes(own);
  freeBytes(piece);
  expect([own.byteLength, [...piece]]).toEqual([0, [2, 2, 2, 2]]);
});
