import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { type Grant, GrantsFile } from './grants-file.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = temporaryFolder();
  path = join(dir, 'grants.json');
});

const grant = (fingerprint: string, by = 'me'): Grant => ({
  fingerprint,
  tool: 'Bash',
  input: { command: 'ls' },
  cwd: '/repo',
  at: '2026-01-01T00:00:00.000Z',
  by,
});

describe('what is allowed for good', () => {
  verifies('X-58').test('is kept in a private file, listed, and taken back', async () => {
    const file = new GrantsFile(path);
    const before = [file.list(), file.has('aa')];
    await file.add(grant('aa'));
    await file.add(grant('bb'));
    const other = new GrantsFile(path);
    const kept = [other.list(), other.has('aa'), other.has('a')];
    await other.revoke('a');
    expect({ before, kept, after: file.list(), mode: statSync(path).mode & 0o777 }).toEqual({
      before: [[], false],
      kept: [[grant('aa'), grant('bb')], true, false],
      after: [grant('bb')],
      mode: 0o600,
    });
  });

  test('twice is once, the later one', async () => {
    const file = new GrantsFile(path);
    await file.add(grant('aa', 'first'));
    await file.add(grant('aa', 'second'));
    expect(file.list()).toEqual([grant('aa', 'second')]);
  });

  test('at the same time by many is all kept', async () => {
    const file = new GrantsFile(path);
    await Promise.all(Array.from({ length: 50 }, (_, n) => file.add(grant(String(n)))));
    expect(file.list()).toHaveLength(50);
  });

  test('is kept on a machine that has no folder for it yet', async () => {
    const file = new GrantsFile(join(dir, 'config', 'reef', 'grants.json'));
    await file.add(grant('aa'));
    expect(file.has('aa')).toBe(true);
  });

  for (const [what, text] of [
    ['torn', '{"version":1,"grants":[{'],
    ['of another version', '{"version":2,"grants":[]}'],
    ['no list', '[]'],
  ]) {
    test(`in a file that is ${what} allows nothing, says so, and is not overwritten`, async () => {
      writeFileSync(path, text ?? '');
      const file = new GrantsFile(path);
      expect(file.has('aa')).toBe(false);
      expect(() => file.list()).toThrow(expect.objectContaining({ code: 'config_invalid' }));
      await expect(file.add(grant('aa'))).rejects.toMatchObject({ code: 'config_invalid' });
      expect(readFileSync(path, 'utf8')).toBe(text);
    });
  }

  test('goes on after a write that failed', async () => {
    writeFileSync(path, '{');
    const file = new GrantsFile(path);
    await expect(file.add(grant('aa'))).rejects.toThrow();
    rmSync(path);
    await file.add(grant('bb'));
    expect(file.list()).toEqual([grant('bb')]);
  });
});
