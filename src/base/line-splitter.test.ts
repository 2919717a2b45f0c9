import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

function split(chunks: readonly (string | Buffer)[], longest = 100) {
  const lines: string[] = [];
  let dropped = 0;
  const splitter = new LineSplitter({
    longest,
    onLine: (line) => lines.push(line),
    onTooLong: () => {
      dropped += 1;
    },
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  return { lines, dropped };
}

test('lines are whole wherever the chunks were cut, within a character included', () => {
  const text = Buffer.from('one\nzwölf\n\nthree\n');
  for (let size = 1; size <= text.length; size++) {
    const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.subarray(at * size, (at + 1) * size),
    );
    expect(split(chunks)).toEqual({ lines: ['one', 'zwölf', 'three'], dropped: 0 });
  }
});

test('a last line without an end is not one yet', () => {
  expect(split(['one\ntw', 'o'])).toEqual({ lines: ['one'], dropped: 0 });
});

test('a line over the limit is told of once, and the next one is whole', () => {
  expect(split(['1234', '5678', '9012\nok\n'], 10)).toEqual({ lines: ['ok'], dropped: 1 });
  expect(split(['1234567890\n'], 10)).toEqual({ lines: ['1234567890'], dropped: 0 });
});
