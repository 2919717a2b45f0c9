import { mkdir, readdir, readFile, rename, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { openLogFile } from './log-file.ts';

let dir: string;
let path: string;

beforeEach(() => {
  dir = temporaryFolder();
  path = join(dir, 'daemon.log');
});

test('a log is private and goes on where the last process stopped', async () => {
  for (const line of ['one\n', 'two\n']) {
    const log = openLogFile(path);
    log.write(line);
    log.close();
  }
  expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual(['one\ntwo\n', 0o600]);
});

test('a full log becomes the older one, of which there is one', async () => {
  const log = openLogFile(path, 25);
  for (let n = 0; n < 7; n++) log.write(`line ${n}, é\n`);
  log.close();
  expect({
    names: (await readdir(dir)).sort(),
    now: await readFile(path, 'utf8'),
    older: await readFile(`${path}.1`, 'utf8'),
  }).toEqual({
    names: ['daemon.log', 'daemon.log.1'],
    now: 'line 6, é\n',
    older: 'line 4, é\nline 5, é\n',
  });
});

test('lines that cannot be written are counted, and told by the next that can', async () => {
  const log = openLogFile(path, 20);
  log.write('first line\n');
  await mkdir(`${path}.1`);
  log.write('second line\n');
  log.write('third line\n');
  await rmdir(`${path}.1`);
  log.write('fourth line\n');
  log.close();
  expect([await readFile(`${path}.1`, 'utf8'), await readFile(path, 'utf8')]).toEqual([
    'first line\n',
    '{"level":"warn","message":"log lines lost","count":2}\nfourth line\n',
  ]);
});

test('a log somebody moved away is made again at the next turn', async () => {
  const log = openLogFile(path, 20);
  log.write('first line\n');
  await rename(path, join(dir, 'moved'));
  log.write('second line\n');
  log.close();
  expect(await readFile(path, 'utf8')).toBe('second line\n');
});
