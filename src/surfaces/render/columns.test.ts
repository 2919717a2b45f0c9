import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth, oneLine, table } from './columns.ts';

test('wide characters count two columns and combining ones none', () => {
  expect(['abc', '日本', '👍', 'e\u0301'].map(displayWidth)).toEqual([3, 4, 2, 1]);
});

test('a line never exceeds its width and never contains a line end', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.integer({ min: 1, max: 60 }), (text, width) => {
      const line = oneLine(text, width);
      expect(displayWidth(line)).toBeLessThanOrEqual(width);
      expect(line).not.toMatch(/[\n\r\t]/);
    }),
  );
});

test('columns are as wide as their longest cell, the last takes the rest', () => {
  const rows = [
    [{ text: 'ID' }, { text: 'STATUS' }, { text: 'TASK' }],
    [{ text: '01KA' }, { text: 'ok' }, { text: 'a task that is far too long for this' }],
  ];
  expect(table(rows, 30)).toBe('ID    STATUS  TASK\n01KA  ok      a task that is …');
});

test('colour is put round a cell after it was fitted', () => {
  const paint = (text: string) => `<${text}>`;
  expect(
    table(
      [
        [
          { text: 'abc', paint },
          { text: 'x', paint },
        ],
      ],
      20,
    ),
  ).toBe('<abc>  <x>');
});
