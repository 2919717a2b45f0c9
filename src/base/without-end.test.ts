import { expect, test } from 'vitest';
import { withoutEnd } from './without-end.ts';

test('only what stands at the end goes, and all of it', () => {
  expect(
    [
      ['/a//', '/'],
      ['a\r\n\n', '\r\n'],
      ['a', '/'],
      ['//', '/'],
      ['', '/'],
    ].map(([text = '', characters = '']) => withoutEnd(text, characters)),
  ).toEqual(['/a', 'a', 'a', '', '']);
});
