import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { chmod, link, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createSafeDir, descriptorAnchor, realpathAnchor, type SafeDir } from './safe-dir.ts';

const CANARY = 'outside the worktree';
const onLinux = process.platform === 'linux';
let base: string;
let root: string;

/** A worktree, and beside it what must never be read or written: also as a sibling whose name begins like the root. */
beforeEach(() => {
  base = temporaryFolder();
  root = join(base, 'root');
  for (const dir of ['root/dir/deep', 'root/.git', 'outside', 'root-evil'])
    mkdirSync(join(base, dir), { recursive: true });
  for (const file of ['outside/secret', 'root-evil/secret', 'root/.git/config'])
    writeFileSync(join(base, file), CANARY);
  writeFileSync(join(root, 'dir/file'), 'inside');
  symlinkSync('../outside', join(root, 'out'));
  symlinkSync('../outside/secret', join(root, 'leaf'));
  symlinkSync('dir', join(root, 'inner'));
  symlinkSync('../../root-evil', join(root, 'dir/evil'));
});

async function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => (Buffer.isBuffer(value) ? value.toString() : (value ?? 'done')),
    (error: NodeJS.ErrnoException) => error.code,
  );
}

/** Everything below a folder, links unfollowed: name, kind, mode and content. */
function hashOf(dir: string): string {
  const hash = createHash('sha256');
  const visit = (path: string) => {
    const { mode } = lstatSync(path);
    hash.update(`${path}\0${mode}\0`);
    if ((mode & 0o170000) === 0o040000) for (const name of readdirSync(path).sort()) visit(join(path, name));
    if ((mode & 0o170000) === 0o100000) hash.update(readFileSync(path));
  };
  visit(dir);
  return hash.digest('hex');
}

const anchors = { ...(onLinux && { descriptorAnchor }), realpathAnchor };

describe.each(Object.entries(anchors))('SafeDir by %s', (_name, openAnchor) => {
  let safe: SafeDir;
  beforeEach(() => {
    safe = createSafeDir(root, { openAnchor });
  });

  test('files are written, read, listed and removed below the root', async () => {
    await safe.write('new/deep/a.txt', Buffer.from('hello'));
    const read = (await safe.read('./new//deep/a.txt')).toString();
    const entry = await safe.stat('new/deep/a.txt');
    const listed = await safe.list('new/deep');
    await safe.remove('new/deep/a.txt');
    await safe.remove('new/deep');
    expect({ read, entry, listed, left: await safe.list('new'), root: (await safe.stat('')).kind }).toEqual({
      read: 'hello',
      entry: { name: 'a.txt', kind: 'file', size: 5, mode: 0o600 },
      listed: [entry],
      left: [],
      root: 'dir',
    });
  });

  test('an existing file keeps its mode, a new one is private or as told, its folders likewise', async () => {
    await writeFile(join(root, 'run.sh'), 'old');
    await chmod(join(root, 'run.sh'), 0o755);
    await safe.write('run.sh', Buffer.from('new'));
    await safe.write('private/a', Buffer.from(''));
    await safe.write('public/a', Buffer.from(''), 0o644);
    const modes = await Promise.all(
      ['run.sh', 'private', 'private/a', 'public', 'public/a'].map(
        async (name) => (await stat(join(root, name))).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o755, 0o700, 0o600, 0o755, 0o644]);
  });

  verifies('X-40', 'X-112').test('links and siblings lead nowhere, whatever is asked', async () => {
    const before = [hashOf(join(base, 'outside')), hashOf(join(base, 'root-evil')), hashOf(root)];
    const paths = [
      'out/secret',
      'out/new',
      'inner/file',
      'dir/evil/secret',
      '../root-evil/secret',
      '.git/config',
      '../x',
    ];
    const results = [];
    for (const path of paths) {
      results.push(await outcome(safe.read(path)), await outcome(safe.write(path, Buffer.from('x'))));
      results.push(await outcome(safe.remove(path)), await outcome(safe.stat(path)), await outcome(safe.list(path)));
    }
    results.push(await outcome(safe.list('out')), await outcome(safe.read('leaf')), await outcome(safe.read('')));
    expect(results).toEqual(results.map(() => 'path_outside_worktree'));
    expect([hashOf(join(base, 'outside')), hashOf(join(base, 'root-evil')), hashOf(root)]).toEqual(before);
  });

  verifies('X-42').test('a link or hard link in the place of a file is replaced, not followed', async () => {
    await link(join(base, 'outside/secret'), join(root, 'hard'));
    await safe.write('leaf', Buffer.from('mine'));
    await safe.write('hard', Buffer.from('mine'));
    expect({
      outside: await readFile(join(base, 'outside/secret'), 'utf8'),
      leaf: await outcome(safe.read('leaf')),
      hard: await outcome(safe.read('hard')),
      links: (await stat(join(base, 'outside/secret'))).nlink,
    }).toEqual({ outside: CANARY, leaf: 'mine', hard: 'mine', links: 1 });
  });

  test('a link is listed and removed as a link', async () => {
    const kinds = (await safe.list('')).map(({ name, kind }) => [name, kind]);
    await safe.remove('out');
    expect(kinds).toEqual([
      ['dir', 'dir'],
      ['inner', 'link'],
      ['leaf', 'link'],
      ['out', 'link'],
    ]);
    expect([existsSync(join(root, 'out')), existsSync(join(base, 'outside/secret'))]).toEqual([false, true]);
  });

  verifies('X-42').test(
    'a FIFO or folder named like a file hangs nothing, and a file over the cap is not read',
    async () => {
      const child = spawn('mkfifo', [join(root, 'pipe')]);
      await once(child, 'exit');
      expect([
        await outcome(safe.read('pipe')),
        await outcome(safe.read('dir')),
        await outcome(safe.read('dir/file', 5)),
        await outcome(safe.read('dir/file', 6)),
        await outcome(safe.list('dir/file')),
        (await safe.stat('pipe')).kind,
      ]).toEqual(['bad_request', 'bad_request', 'bad_request', 'inside', expect.any(String), 'other']);
      await safe.write('pipe', Buffer.from('now a file'));
      expect(await outcome(safe.read('pipe'))).toBe('now a file');
    },
  );

  test('a socket is no file', async () => {
    const server = createServer().listen(join(root, 'socket'));
    await once(server, 'listening');
    const read = await outcome(safe.read('socket'));
    server.close();
    expect(read).toBe('bad_request');
  });

  test('what is absent is ENOENT, and a folder is not overwritten', async () => {
    expect([
      await outcome(safe.read('absent')),
      await outcome(safe.read('absent/x')),
      await outcome(safe.remove('absent')),
      await outcome(safe.stat('absent')),
      await outcome(safe.write('dir', Buffer.from('x'))),
      await outcome(safe.remove('dir')),
    ]).toEqual(['ENOENT', 'ENOENT', 'ENOENT', 'ENOENT', 'EISDIR', 'ENOTEMPTY']);
    expect((await readdir(root)).filter((name) => name.startsWith('.reef-tmp'))).toEqual([]);
  });

  test('no descriptor stays open, whether calls succeed or fail', async () => {
    const count = () => readdirSync(onLinux ? '/proc/self/fd' : '/dev/fd').length;
    const use = async () => {
      for (const path of ['dir/file', 'out/secret', 'absent/x', 'dir/deep', '../x', 'leaf']) {
        await outcome(safe.read(path));
        await outcome(safe.list(path));
        await outcome(safe.stat(path));
        await outcome(safe.write(path, Buffer.from('x')));
      }
    };
    await use();
    const before = count();
    for (let n = 0; n < 20; n++) await use();
    expect(count()).toBeLessThanOrEqual(before + 2);
  });

  const part = fc.oneof(
    fc.constantFrom(
      '..',
      '.',
      '',
      'dir',
      'deep',
      'file',
      'out',
      'leaf',
      'inner',
      'evil',
      'secret',
      '.git',
      '.GIT',
      'config',
    ),
    fc.constantFrom(
      '.g\u200cit',
      '.reef',
      'root',
      'root-evil',
      'outside',
      '...',
      '~',
      '/',
      '\0',
      '\n',
      '-',
      ' ',
      '\\..\\',
    ),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );
  const path = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('dir/file', './dir//file/', 'kept') },
    { weight: 9, arbitrary: fc.array(part, { maxLength: 7 }).map((parts) => parts.join('/')) },
  );

  verifies('X-111', 'X-40').test(
    'of thousands of paths none reads the canary, none writes outside',
    async () => {
      const outside = () => [
        hashOf(join(base, 'outside')),
        hashOf(join(base, 'root-evil')),
        hashOf(join(root, '.git')),
      ];
      const before = outside();
      await safe.write('kept', Buffer.from('planted'));
      const lasting = new Set(readdirSync(root));
      /** Removes what it added at the top: the tree must not grow with the number of runs. */
      const plant = async (hostile: string) => {
        const result = await outcome(safe.write(hostile, Buffer.from('planted')));
        const added = readdirSync(root).filter((name) => !lasting.has(name));
        for (const name of added) rmSync(join(root, name), { recursive: true });
        return result;
      };
      let refused = 0;
      let served = 0;
      const runs = scale('X-111', { test: 2_000, faults: 200_000, soak: 200_000 });
      await fc.assert(
        fc.asyncProperty(path, fc.nat({ max: 9 }), async (hostile, choice) => {
          const read = await outcome(safe.read(hostile));
          const seen = [read, JSON.stringify(await outcome(safe.list(hostile)))];
          if (choice === 0) seen.push(await plant(hostile));
          if (choice === 1) seen.push(await outcome(safe.remove(hostile)));
          expect(seen.join(' ')).not.toContain(CANARY);
          if (read === 'path_outside_worktree') refused++;
          if (read === 'inside' || read === 'planted') served++;
        }),
        { numRuns: runs },
      );
      expect(outside()).toEqual(before);
      expect([refused > runs / 10, served > 0]).toEqual([true, true]);
    },
    1_200_000,
  );
});

verifies('X-43').test('a root that was replaced by a link is not entered', async () => {
  const roots = Object.values(anchors).map((openAnchor) => createSafeDir(join(root, 'inner'), { openAnchor }));
  const seen = await Promise.all(
    [createSafeDir(join(root, 'inner')), ...roots].map((safe) => outcome(safe.read('file'))),
  );
  expect(seen).toEqual(seen.map(() => 'path_outside_worktree'));
});

test('a folder of more than ten thousand entries is refused rather than listed in part', async () => {
  mkdirSync(join(root, 'many'));
  for (let n = 0; n <= 10_000; n++) symlinkSync('x', join(root, 'many', String(n)));
  const safe = createSafeDir(root);
  expect(await outcome(safe.list('many'))).toBe('bad_request');
  await safe.remove('many/0');
  expect((await safe.list('many')).length).toBe(10_000);
});
