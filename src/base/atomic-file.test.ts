import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { removeLeftovers, setAside, writeAtomic } from './atomic-file.ts';
import { systemClock } from './clock.ts';

let dir: string;

beforeEach(() => {
  dir = temporaryFolder();
});

const modeOf = async (path: string) => ((await lstat(path)).mode & 0o777).toString(8);

verifies('Q-11').test('a file is made or replaced, private, and nothing else is left', async () => {
  const path = join(dir, 'state.json');
  await writeAtomic(path, 'one');
  await writeAtomic(path, Buffer.from('two'));
  await writeAtomic(join(dir, 'run.sh'), '#!', { mode: 0o755 });
  expect({
    content: await readFile(path, 'utf8'),
    modes: [await modeOf(path), await modeOf(join(dir, 'run.sh'))],
    names: (await readdir(dir)).sort(),
  }).toEqual({ content: 'two', modes: ['600', '755'], names: ['run.sh', 'state.json'] });
});

verifies('X-42').test('a link in the place of the file is replaced, its target untouched', async () => {
  await writeFile(join(dir, 'target'), 'mine');
  await symlink('target', join(dir, 'link'));
  await writeAtomic(join(dir, 'link'), 'new');
  expect([await readFile(join(dir, 'target'), 'utf8'), (await lstat(join(dir, 'link'))).isFile()]).toEqual([
    'mine',
    true,
  ]);
});

verifies('Q-11').test('a failed write leaves the old file, tells why, and leaves nothing behind', async () => {
  await mkdir(join(dir, 'folder', 'inside'), { recursive: true });
  await expect(writeAtomic(join(dir, 'folder'), 'x')).rejects.toMatchObject({ syscall: 'rename' });
  await expect(writeAtomic(join(dir, 'absent', 'x'), 'x')).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await readdir(dir)).toEqual(['folder']);
});

const WRITER = `
const { writeAtomic } = await import(process.argv[1]);
console.log('ready');
for (let n = 0; ; n = (n + 1) % 10) await writeAtomic(process.argv[2], String(n).repeat(300_000));
`;

async function killWhileWriting(path: string, afterMs: number): Promise<void> {
  const module = join(import.meta.dirname, 'atomic-file.ts');
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', WRITER, module, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout) await once(child.stdout, 'data');
  await systemClock.sleep(afterMs);
  child.kill('SIGKILL');
  await once(child, 'exit');
}

verifies('Q-11').test(
  'killed at any moment, the file is whole, and what is left beside it is known and removable',
  async () => {
    const path = join(dir, 'state.json');
    await writeAtomic(path, '9'.repeat(300_000));
    const contents = new Set<string>();
    let leftovers = 0;
    // Twelve moments, and later ones where the machine is so slow that none of them was in the middle of a write.
    for (let round = 0; round < 12 || (leftovers === 0 && round < 100); round++) {
      await killWhileWriting(path, 3 + round * 2.3);
      const content = await readFile(path, 'utf8');
      contents.add(`${content.length} of ${new Set(content).size}`);
      const names = (await readdir(dir)).filter((name) => name !== 'state.json');
      leftovers += names.length;
      expect((await removeLeftovers(dir)).sort()).toEqual(names.sort());
      expect(await readdir(dir)).toEqual(['state.json']);
    }
    expect([...contents]).toEqual(['300000 of 1']);
    expect(leftovers).toBeGreaterThan(0);
  },
);

const ONCE = `
const { writeAtomic } = await import(process.argv[1]);
await writeAtomic(process.argv[2], 'new').then(() => 'done', (error) => error.code).then(console.log);
`;

/** Writes once with a fault at the nth call of that name; one pool thread, because strace counts per thread. */
async function withFault(call: string, fault: string, nth: number): Promise<unknown> {
  const path = join(dir, 'state.json');
  await writeAtomic(path, 'old');
  const log = join(dir, 'trace');
  const node = [process.execPath, '--input-type=module', '-e', ONCE, join(import.meta.dirname, 'atomic-file.ts'), path];
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:${fault}:when=${nth}`];
  const env = { ...process.env, UV_THREADPOOL_SIZE: '1' };
  const { stdout } = spawnSync('strace', ['-f', '-o', log, ...inject, ...node], { env, encoding: 'utf8' });
  const fired = /INJECTED|killed by SIGKILL/.test(await readFile(log, 'utf8'));
  await rm(log);
  return [fired, stdout.trim(), await readFile(path, 'utf8'), (await removeLeftovers(dir)).length];
}

const NAMED = `
const { writeAtomic } = await import(process.argv[1]);
await writeAtomic(process.argv[2], 'new', { effect: process.argv[3] });
`;

const hasStrace = spawnSync('strace', ['-V']).status === 0;

verifies('Q-11')
  .needs(hasStrace, 'strace is not installed')
  .test('at every crash point the old or the new file is there; a fault is told and keeps the old one', async () => {
    const KILL = 'signal=KILL';
    expect({
      killedBeforeSync: await withFault('fsync', KILL, 1),
      killedBeforeRename: await withFault('rename', KILL, 1),
      killedBeforeFolderSync: await withFault('fsync', KILL, 2),
      syncFails: await withFault('fsync', 'error=EIO', 1),
      renameFails: await withFault('rename', 'error=ENOSPC', 1),
      folderSyncFails: await withFault('fsync', 'error=EIO', 2),
    }).toEqual({
      killedBeforeSync: [true, '', 'old', 1],
      killedBeforeRename: [true, '', 'old', 1],
      killedBeforeFolderSync: [true, '', 'new', 0],
      syncFails: [true, 'EIO', 'old', 0],
      renameFails: [true, 'ENOSPC', 'old', 0],
      folderSyncFails: [true, 'EIO', 'new', 0],
    });
  });

verifies('Q-40')
  .needs(hasStrace, 'strace is not installed')
  .test('whoever repeats a named write takes the place of what a kill left of it, and of nothing else', async () => {
    const path = join(dir, 'a.txt');
    const node = [process.execPath, '--input-type=module', '-e', NAMED, join(import.meta.dirname, 'atomic-file.ts')];
    const kill = ['-f', '-o', '/dev/null', '-e', 'trace=rename', '-e', 'inject=rename:signal=KILL:when=1'];
    const namesAfter = async (program: string, args: string[]) => {
      spawnSync(program, args, { env: { ...process.env, UV_THREADPOOL_SIZE: '1' } });
      return (await readdir(dir)).map((name) => name.slice(0, 10)).sort();
    };
    const [file = '', ...args] = [...node, path];
    const killedOf = (effect: string) => namesAfter('strace', [...kill, file, ...args, effect]);
    expect([await killedOf('one'), await killedOf('one'), await killedOf('other')]).toEqual([
      ['.reef-tmp-'],
      ['.reef-tmp-'],
      ['.reef-tmp-', '.reef-tmp-'],
    ]);
    expect([await namesAfter(file, [...args, 'one']), await namesAfter(file, [...args, 'other'])]).toEqual([
      ['.reef-tmp-', 'a.txt'],
      ['a.txt'],
    ]);
  });

test('a link in the place of a temporary file is not followed', async () => {
  await writeFile(join(dir, 'target'), 'mine');
  const path = join(dir, 'a.txt');
  const mark = createHash('sha256').update('one').digest('hex').slice(0, 24);
  await symlink('target', join(dir, `.reef-tmp-${mark}`));
  await writeAtomic(path, 'new', { effect: 'one' });
  expect([await readFile(join(dir, 'target'), 'utf8'), await readFile(path, 'utf8')]).toEqual(['mine', 'new']);
  expect((await readdir(dir)).sort()).toEqual(['a.txt', 'target']);
});

test('only what this module made counts as a leftover', async () => {
  const names = [
    '.reef-tmp-',
    '.reef-tmp-0123456789abcdef',
    'x.tmp',
    '.reef-tmp-0123456789abcdef01234567x',
    '.gitignore',
  ];
  for (const name of names) await writeFile(join(dir, name), '');
  expect(await removeLeftovers(dir)).toEqual([]);
});

test('an unreadable file is set aside under the time, never over an earlier one', async () => {
  const clock = manualClock(new Date('2026-05-06T07:08:09.010Z'));
  const path = join(dir, 'reef.db');
  const moved: string[] = [];
  for (const content of ['a', 'b', 'c']) {
    await writeFile(path, content);
    moved.push(setAside(path, clock));
  }
  expect(() => setAside(path, clock)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  const base = `${path}.bad-2026-05-06T07-08-09.010Z`;
  expect(moved).toEqual([base, `${base}-2`, `${base}-3`]);
  expect(await Promise.all(moved.map((name) => readFile(name, 'utf8')))).toEqual(['a', 'b', 'c']);
});

test('a folder that cannot be searched is an error, not an absent file', async () => {
  const closed = join(dir, 'closed');
  await mkdir(closed);
  await writeFile(join(dir, 'file'), '');
  await chmod(closed, 0);
  expect(() => setAside(join(dir, 'file', 'x'), manualClock())).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  await chmod(closed, 0o700);
});
