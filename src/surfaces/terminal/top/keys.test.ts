import { expect, test } from 'vitest';
import { Keys } from './keys.ts';

test('keys come out by name, characters as themselves, and what is unknown not at all', () => {
  const keys = new Keys();
  expect(keys.read(Buffer.from('jk\u001b[A\u001b[6~\r\u007f\u0003é'))).toEqual([
    ...['j', 'k', 'up', 'page down', 'enter', 'backspace', 'interrupt', 'é'],
  ]);
  expect(keys.read(Buffer.from('\u001b[200~x'))).toEqual(['x']);
  expect(keys.read(Buffer.from('\u001b'))).toEqual(['escape']);
});

test('a character that arrives in two parts is one key', () => {
  const keys = new Keys();
  const bytes = Buffer.from('漢');
  expect([keys.read(bytes.subarray(0, 1)), keys.read(bytes.subarray(1))]).toEqual([[], ['漢']]);
});
