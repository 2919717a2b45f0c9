import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import type { Tell } from '../detect/progress-watch.ts';
import { RewriteWatch } from '../detect/rewrite-watch.ts';
import { FileTools } from './file-tools.ts';
import { hashOf, writeUnlessSame } from './write-same.ts';

function bench({ guards = true } = {}) {
  const root = temporaryFolder();
  const news: Parameters<Tell>[0][] = [];
  const rewrites = new RewriteWatch((one) => news.push(one));
  const dir = createSafeDir(root);
  return {
    root,
    dir,
    news,
    rewrites,
    tools: new FileTools({ dir, rewrites, guards }),
    file: (path: string) => join(root, path),
  };
}

const identityOf = (path: string) => {
  const { mtimeNs, ino, mode } = statSync(path, { bigint: true });
  return { mtimeNs, ino, mode };
};

verifies('S-20').test('writing identical bytes is a no-op that leaves time and inode alone', async () => {
  const { tools, file } = bench();
  await tools.write('cmd/main.go', 'package main\n');
  const before = identityOf(file('cmd/main.go'));
  expect(await tools.write('./cmd//main.go', 'package main\n')).toEqual({
    success: true,
    noop: true,
    message: 'File already exists with identical content',
    path: 'cmd/main.go',
  });
  await tools.read('cmd/main.go');
  expect(await tools.edit('cmd/main.go', { old: 'main', new: 'main' })).toMatchObject({ success: true, noop: true });
  expect(identityOf(file('cmd/main.go'))).toEqual(before);
});

verifies('S-22').test(
  'what exists is replaced only on purpose, after reading, and as it was read; else nothing is written',
  async () => {
    const { tools, file } = bench();
    writeFileSync(file('a.txt'), 'one\n');
    const refused = async (act: () => Promise<unknown>) => {
      const error = await act().then(
        () => undefined,
        (caught) => caught,
      );
      return [error?.code, readFileSync(file('a.txt'), 'utf8')];
    };
    const details = { path: 'a.txt', hash: hashOf(Buffer.from('one\n')), size: 4 };
    await expect(tools.write('a.txt', 'two\n')).rejects.toMatchObject({ code: 'file_exists', details });
    expect(await refused(() => tools.write('a.txt', 'two\n', { replace: true }))).toEqual(['unread_file', 'one\n']);
    expect(await refused(() => tools.edit('a.txt', { old: 'one', new: 'two' }))).toEqual(['unread_file', 'one\n']);
    await tools.read('a.txt');
    writeFileSync(file('a.txt'), 'by somebody\n');
    expect(await refused(() => tools.write('a.txt', 'two\n', { replace: true }))).toEqual([
      'stale_file',
      'by somebody\n',
    ]);
    expect(await refused(() => tools.edit('a.txt', { old: 'by', new: 'to' }))).toEqual(['stale_file', 'by somebody\n']);
    await tools.read('a.txt');
    expect(await tools.edit('a.txt', { old: 'by', new: 'to' })).toMatchObject({ success: true, noop: false });
    expect(await tools.write('a.txt', 'quite another\n', { replace: true })).toMatchObject({ noop: false });
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('quite another\n');
  },
);

verifies('S-22').test('an edit needs a text that is there exactly once, or all of them asked for', async () => {
  const { tools, file } = bench();
  await tools.write('a.txt', 'x y x\n');
  for (const [change, count] of [
    [{ old: 'x', new: 'z' }, 2],
    [{ old: 'q', new: 'z' }, 0],
    [{ old: '', new: 'z' }, 0],
  ] as const) {
    await expect(tools.edit('a.txt', change)).rejects.toMatchObject({ code: 'edit_not_found', details: { count } });
  }
  await expect(tools.edit('absent.txt', { old: 'x', new: 'y' })).rejects.toMatchObject({ code: 'edit_not_found' });
  await tools.edit('a.txt', { old: 'x', new: '$&', all: true });
  expect(readFileSync(file('a.txt'), 'utf8')).toBe('$& y $&\n');
  writeFileSync(file('bin'), Buffer.from([0xff, 0xfe, 0x41]));
  await tools.read('bin');
  await expect(tools.edit('bin', { old: 'A', new: 'B' })).rejects.toMatchObject({ code: 'bad_request' });
});

verifies('S-23', 'X-40').test(
  'nothing outside the worktree is read or written, and the mode of a file is kept',
  async () => {
    const { tools, file } = bench();
    const outside = bench();
    symlinkSync(outside.root, file('door'));
    symlinkSync(join(outside.root, 'target'), file('link'));
    for (const path of ['../x', '/etc/passwd', 'door/x', '.git/config', '.reef/x', 'a/../../x', 'link']) {
      await expect(tools.write(path, 'x')).rejects.toMatchObject({ code: 'path_outside_worktree' });
    }
    expect([existsSync(join(outside.root, 'x')), existsSync(join(outside.root, 'target'))]).toEqual([false, false]);
    writeFileSync(file('run.sh'), '#!/bin/sh\n');
    chmodSync(file('run.sh'), 0o751);
    await tools.read('run.sh');
    await tools.edit('run.sh', { old: 'sh\n', new: 'sh\nexit 0\n' });
    expect((identityOf(file('run.sh')).mode & 0o777n).toString(8)).toBe('751');
  },
);

verifies('S-21').test(
  'the function of the workflow writer: replaces without asking, but not what is the same',
  async () => {
    const { dir, file } = bench();
    writeFileSync(file('a.txt'), 'one');
    const before = identityOf(file('a.txt'));
    expect(await writeUnlessSame(dir, 'a.txt', Buffer.from('one'))).toBe(false);
    expect(identityOf(file('a.txt'))).toEqual(before);
    expect(await writeUnlessSame(dir, 'a.txt', Buffer.from('two'))).toBe(true);
    expect(await writeUnlessSame(dir, 'deep/b.txt', Buffer.from('new'))).toBe(true);
    expect([readFileSync(file('a.txt'), 'utf8'), readFileSync(file('deep/b.txt'), 'utf8')]).toEqual(['two', 'new']);
  },
);

const HELLO = (n: number) =>
  `package main\n\nimport "fmt"\n\nfunc main() {\n${'\tfmt.Println("hello")\n'.repeat(20)}\t// attempt ${n}\n}\n`;

/** An agent that writes `main.go` over and over, every third time changed in one line. */
async function helloWorld(guards: boolean) {
  const { tools, root } = bench({ guards });
  let written = 0;
  for (let n = 0; n < 41; n++) {
    const content = HELLO(n % 3 === 0 ? n : 0);
    const result = await tools.write('main.go', content).catch((error: { code: string }) => error);
    if ('noop' in result && !result.noop) written++;
  }
  return { written, content: readFileSync(join(root, 'main.go'), 'utf8') };
}

verifies('S-24').test(
  'in the hello-world scenario every file is written exactly once; without guards it is not',
  async () => {
    const [on, off] = [await helloWorld(true), await helloWorld(false).catch((error: { code: string }) => error)];
    expect(on).toEqual({ written: 1, content: HELLO(0) });
    expect(off).not.toMatchObject({ written: 1 });
  },
);

verifies('S-42').test(
  'a file rewritten almost as it was is pointed out, and refused the fourth time; a red check begins anew',
  async () => {
    const { tools, news, rewrites, file } = bench();
    const write = (n: number) => tools.write('main.go', HELLO(n), { replace: true });
    await write(0);
    expect([await write(1), await write(2)]).toMatchObject([
      { remark: 'Only +1 −1 lines differ from what was there: use edit_file.' },
      { noop: false },
    ]);
    await expect(write(3)).rejects.toMatchObject({ code: 'rewrite_loop' });
    expect(readFileSync(file('main.go'), 'utf8')).toBe(HELLO(2));
    rewrites.checkFailed();
    expect(await write(4)).toMatchObject({ noop: false });
    expect(await tools.write('main.go', 'something else\n', { replace: true })).not.toHaveProperty('remark');
    expect(news.map(({ action, evidence }) => [action, evidence.nth])).toEqual([
      ['told', 2],
      ['told', 3],
      ['refused', 4],
      ['told', 2],
    ]);
  },
);

verifies('S-42').test('what somebody else wrote may be replaced by something near it', async () => {
  const { tools, news, file } = bench();
  writeFileSync(file('main.go'), HELLO(0));
  await tools.read('main.go');
  expect(await tools.write('main.go', HELLO(1), { replace: true })).not.toHaveProperty('remark');
  expect(news).toEqual([]);
});
