import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.ts';
import { namesWith } from './term-finder.ts';

verifies('C-063').test('names are found by their parts, also after one that is written over several lines', () => {
  const find = namesWith(['[\n  Symbol.asyncIterator\n]', 'emptyCart', 'cartel', 'cart_of']);
  expect({ cart: find('cart'), iterator: find('iterator') }).toEqual({ cart: [1, 3], iterator: [0] });
});

verifies('C-063').test('however many names have a part, all are found', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `cart_${at}`);
  expect(namesWith(names)('cart')).toHaveLength(1_000);
});
