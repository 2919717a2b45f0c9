import { PassThrough } from 'node:stream';
import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { KeyStream } from './key-stream.ts';

function open({ isEmpty = true } = {}) {
  const keyboard = new PassThrough();
  const heard: string[] = [];
  const keys = new KeyStream(keyboard, {
    isVi: false,
    isLineEmpty: () => isEmpty,
    onEnd: () => heard.push('end'),
    onLost: () => heard.push('lost'),
    onInterrupt: () => heard.push('interrupt'),
    onKey: (key) => key === '\n' && heard.push('newline') > 0,
    onPaste: (text) => heard.push(`pasted ${JSON.stringify(text)}`),
  });
  keys.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
  const press = async (text: string) => {
    keyboard.write(text);
    await tick();
    await tick();
    return heard.splice(0);
  };
  return { keyboard, keys, press, heard };
}

verifies('R-112').test('keys that readline does not know end its line, and are remembered in order', async () => {
  const { keys, press } = open();
  keys.release();
  const passed = await press('one\ntwo\u000fthree\r');
  expect([passed.join(' '), [keys.nextEnd(), keys.nextEnd()]]).toEqual([
    'o n e newline t w o \r t h r e e \r',
    ['edit', 'sent'],
  ]);
});

verifies('R-163').test('a pasted text is one thing, whatever it holds and however it arrives', async () => {
  const { keys, press } = open();
  keys.release();
  const heard = await press('a\u001b[200~one\r\ntw');
  await press('o\t\u001b[2J\u0003\u0004\r'); // none of these is a key there
  heard.push(...(await press('\u001b[201~b')));
  expect(heard).toEqual(['a', 'pasted "one\\ntwo\\t[2J\\n"', 'b']);
  keys.hold();
  await press('\u001b[200~later\u001b[201~');
  keys.release();
  await tick();
});

verifies('R-112').test('while nobody reads lines what is typed waits, and only Ctrl-C is heard', async () => {
  const { keys, press, heard } = open();
  expect([await press('typed'), await press('\u0003')]).toEqual([[], ['interrupt']]);
  await press('later');
  keys.release();
  await tick();
  expect(heard.join('')).toBe('later');
});

test('a keyboard that goes away is told', async () => {
  const { keyboard, heard } = open();
  keyboard.end();
  await tick();
  expect(heard).toEqual(['lost']);
});

test('Ctrl-D is the end of an empty line and a key of any other', async () => {
  const [empty, full] = [open(), open({ isEmpty: false })];
  empty.keys.release();
  full.keys.release();
  expect([await empty.press('\u0004'), await full.press('\u0004')]).toEqual([['end'], ['\u0004']]);
});
