import { styleText } from 'node:util';
import { expect, test } from 'vitest';
import { displayWidth } from './columns.ts';
import { fold } from './fold.ts';

const red = (text: string) => styleText('red', text, { validateStream: false });
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
const plain = (text: string) => text.replace(/\u001b\[\d*m/g, '');

test('a line is broken at the width, and nothing of it is lost', () => {
  for (const line of [
    '',
    'short',
    'a longer line than that',
    '漢字と仮名',
    '🎉🎉🎉',
    red('coloured all the way'),
    '\tx',
  ]) {
    const folded = fold(line, 6);
    expect(folded.map(plain).join('')).toBe(plain(line).replaceAll('\t', '    '));
    expect(Math.max(...folded.map((each) => displayWidth(plain(each))))).toBeLessThanOrEqual(6);
  }
});

test('a colour goes on behind the break and ends where it ended', () => {
  expect(fold(`ab${red('cdef')}gh`, 4)).toEqual(['ab\u001b[31mcd\u001b[0m', '\u001b[31mef\u001b[39mgh']);
});
