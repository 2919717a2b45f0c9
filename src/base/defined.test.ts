import { expect, test } from 'vitest';
import { defined } from './defined.ts';

test('members without a value are left out, and the others keep their order', () => {
  const given = defined({ a: '', b: undefined, c: 0, d: null, e: false });
  expect(JSON.stringify(given)).toBe('{"a":"","c":0,"e":false}');
});
