import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { readUpTo } from './read-up-to.ts';

function fileOf(text: string): string {
  const folder = temporaryFolder();
  const path = join(folder, 'file');
  writeFileSync(path, text);
  return path;
}

test('a file is read to its limit and not one byte further', async () => {
  const path = fileOf('12345');
  const read = async (from: string, limit: number) => {
    const { bytes, isWhole } = await readUpTo(from, limit);
    return [bytes.toString(), isWhole];
  };
  expect([await read(path, 4), await read(path, 5), await read(path, 6), await read(fileOf(''), 5)]).toEqual([
    ['1234', false],
    ['12345', true],
    ['12345', true],
    ['', true],
  ]);
});

test('what has no size and no end is given up', async () => {
  expect(await readUpTo('/dev/zero', 1_000_000)).toMatchObject({ isWhole: false });
});

test('what is not there is an error of the system', async () => {
  await expect(readUpTo(`${fileOf('')}-gone`, 5)).rejects.toMatchObject({ code: 'ENOENT' });
});
