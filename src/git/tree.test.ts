import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collect, initRepository, makeRepository } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { hashFiles, readBlobs } from './blobs.ts';
import { nextField, nulFields } from './nul-fields.ts';
import { readStatus } from './status.ts';
import { filteredPaths, listIgnored, listIndex, listTouched, listTree, listUntracked } from './tree.ts';

const ODD = [
  '-dash',
  '--output=x',
  'a b',
  'line\nbreak',
  'quo"te',
  '"quoted"',
  '\ttab',
  'ünï',
  '$(id)',
  ':(top)x',
  '*.ts',
  '\\back\\n',
];

test('a tree and an index list every path with its blob, whatever its name', async () => {
  const { git, place, plain, write, commit } = makeRepository({});
  for (const name of ODD) write(`dir/${name}`, name);
  const head = commit('odd names');
  symlinkSync('dir', join(place.toplevel, 'link'));
  plain('add', 'link');
  const oidOf = (text: string) => execFileSync('git', ['hash-object', '--stdin'], { input: text }).toString().trim();
  const expected = ODD.map((name) => ({ mode: '100644', oid: oidOf(name), path: `dir/${name}` }));
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
  expect((await collect(listTree(git, place, head))).sort(byPath)).toEqual(expected.sort(byPath));
  expect((await collect(listIndex(git, place))).sort(byPath)).toEqual(
    [...expected, { mode: '120000', oid: oidOf('dir'), path: 'link' }]
      .map((entry) => ({ ...entry, stage: 0 }))
      .sort(byPath),
  );
});

test('a listing is read as far as it is asked for', async () => {
  const { git, place } = makeRepository({ a: '1', b: '2', c: '3' });
  const seen: string[] = [];
  for await (const { path } of listIndex(git, place)) {
    seen.push(path);
    if (seen.length === 2) break;
  }
  expect(seen).toEqual(['a', 'b']);
});

test('entries outside a sparse checkout are left out, conflicts show their stages', async () => {
  const { git, place, plain, write, commit } = makeRepository({ 'a/x': '1', 'b/y': '2' });
  plain('sparse-checkout', 'set', 'a');
  const sparse = (await collect(listIndex(git, place))).map(({ path }) => path);
  plain('sparse-checkout', 'disable');
  plain('checkout', '-q', '-b', 'side');
  write('a/x', 'side');
  commit('side');
  plain('checkout', '-q', 'main');
  write('a/x', 'main');
  commit('main');
  expect(() => plain('merge', '-q', 'side')).toThrow();
  const stages = (await collect(listIndex(git, place))).map(({ path, stage }) => `${path} ${stage}`);
  expect([sparse, stages]).toEqual([['a/x'], ['a/x 1', 'a/x 2', 'a/x 3', 'b/y 0']]);
  const head = { mode: '100644', oid: plain('rev-parse', 'HEAD:a/x') };
  expect(await readStatus(git, place)).toEqual([{ path: 'a/x', isUntracked: false, head }]);
});

test('untracked, ignored and touched paths are told apart', async () => {
  const { git, place, plain, write } = makeRepository({
    '.gitignore': 'out/\n*.log\n',
    'a.txt': 'one\n',
    'b.txt': 'two\n',
  });
  write('.git/info/exclude', 'private\n');
  for (const path of ['out/x/y', 'x.log', 'private', 'new/file', '-odd\nname']) write(path, 'x');
  write('a.txt', 'two\n');
  rmSync(join(place.toplevel, 'b.txt'));
  plain('init', '-q', 'nested');
  expect({
    untracked: (await collect(listUntracked(git, place))).sort(),
    ignored: (await collect(listIgnored(git, place))).sort(),
    touched: await collect(listTouched(git, place)),
  }).toEqual({
    untracked: ['-odd\nname', 'nested/', 'new/file'],
    ignored: ['out/', 'private', 'x.log'],
    touched: ['a.txt', 'b.txt'],
  });
  expect(plain('status', '--porcelain')).not.toBe('');
});

test('status names every kind of change, with the version in HEAD', async () => {
  const files = {
    edited: '1\n',
    staged: '2\n',
    removed: '3\n',
    'old name': 'a longer text that stays the same\n',
    both: '5\n',
    mode: '6\n',
  };
  const { git, place, plain, write } = makeRepository(files);
  const changed = (path: string, head: string | null = path) => ({
    path,
    isUntracked: false,
    head: head && { mode: '100644', oid: plain('rev-parse', `HEAD:${head}`) },
  });
  write('edited', 'x\n');
  write('staged', 'x\n');
  write('both', 'x\n');
  write('added', '');
  plain('add', 'staged', 'both', 'added');
  write('both', 'y\n');
  plain('rm', '-q', 'removed');
  plain('mv', 'old name', 'new name');
  chmodSync(join(place.toplevel, 'mode'), 0o755);
  write('un tracked', '');
  expect(await readStatus(git, place)).toEqual([
    changed('added', null),
    changed('both'),
    changed('edited'),
    changed('mode'),
    { ...changed('new name', 'old name'), from: 'old name' },
    changed('removed'),
    changed('staged'),
    { path: 'un tracked', isUntracked: true, head: null },
  ]);
});

test('files are hashed as git stores them, line ends included, and nothing is written', async () => {
  const { git, place, plain, write } = makeRepository({ '.gitattributes': '*.txt text eol=lf\n' });
  const contents: Record<string, string> = { 'crlf.txt': 'a\r\nb\r\n', 'crlf.bin': 'a\r\nb\r\n' };
  for (const name of ODD) contents[name] = name;
  for (const [path, text] of Object.entries(contents)) write(path, text);
  const oidOf = (path: string) => plain('hash-object', '--', path);
  const hashed = await collect(hashFiles(git, place, Object.keys(contents)));
  expect(hashed).toEqual(Object.keys(contents).map((path) => ({ path, oid: oidOf(path) })));
  expect(hashed[0]?.oid).not.toBe(hashed[1]?.oid);
  expect(plain('count-objects', '-v')).toContain(
    `count: ${plain('rev-list', '--all', '--objects').split('\n').length}\n`,
  );
});

test('what is no readable file has no id, and those after it are hashed', async () => {
  const { git, place, write } = makeRepository();
  const top = place.toplevel;
  mkdirSync(join(top, 'folder'));
  execFileSync('mkfifo', [join(top, 'fifo')]);
  symlinkSync('/etc/passwd', join(top, 'link'));
  write('real', 'x');
  const paths = ['folder', 'fifo', 'link', 'absent', '../home/.gitconfig', '/etc/passwd', 'a\0b', 'real'];
  const hashed = await collect(hashFiles(git, place, paths));
  expect(hashed.map(({ oid }) => oid !== undefined)).toEqual([...Array(7).fill(false), true]);
});

test('a file that vanishes between our look and git is passed over, not its neighbours', async () => {
  const { git, place, write } = makeRepository();
  const names = Array.from({ length: 40 }, (_, at) => `f${at}`);
  for (const name of names) write(name, name);
  let isFirst = true;
  const racing: typeof git = {
    ...git,
    call(where, args, options) {
      if (args[0] === 'hash-object' && isFirst) for (const name of ['f3', 'f30']) rmSync(join(place.toplevel, name));
      isFirst &&= args[0] !== 'hash-object';
      return git.call(where, args, options);
    },
  };
  const hashed = await collect(hashFiles(racing, place, names));
  expect(hashed.filter(({ oid }) => oid === undefined).map(({ path }) => path)).toEqual(['f3', 'f30']);
});

test('hashing fails when git does, instead of finding nothing', async () => {
  const { git, place, write } = makeRepository();
  for (const name of ['one', 'two']) write(name, name);
  const broken: typeof git = {
    ...git,
    call: (where, args, options) => git.call(where, [...args, '-t', 'nonsense'], options),
  };
  await expect(collect(hashFiles(broken, place, ['one', 'two']))).rejects.toMatchObject({ code: 'git_failed' });
});

test('paths with a filter are told from others', async () => {
  const attributes = '*.bin filter=lfs\nplain.bin -filter\nodd.bin filter\nback.bin !filter\n';
  const { git, place } = makeRepository({ '.gitattributes': attributes });
  const paths = ['a.bin', 'dir/b.bin', 'plain.bin', 'odd.bin', 'back.bin', 'a.txt', '-x\n.bin'];
  expect([...(await filteredPaths(git, place, paths))]).toEqual(['a.bin', 'dir/b.bin', '-x\n.bin']);
});

test('output that ends inside a field is a failure', () => {
  expect(() => [...nulFields(Buffer.from('a\0b'))]).toThrow('git ended its output early');
  expect(() => nextField(nulFields(Buffer.of()))).toThrow('git ended its output early');
});

test('blobs are read in order, the missing and the large only named', async () => {
  const { git, place, plain, write, commit } = makeRepository({ a: 'one\n', empty: '', zero: 'x\0\n\0' });
  write('large', 'x'.repeat(5_000));
  commit('large');
  const of = (path: string) => plain('rev-parse', `HEAD:${path}`);
  const missing = '1'.repeat(40);
  const oids = [of('zero'), missing, of('a'), of('large'), of('empty'), plain('rev-parse', 'HEAD'), of('a')];
  const read = await collect(readBlobs(git, place, { oids, maxBlobBytes: 4_000, maxBatchBytes: 5 }));
  expect(read).toEqual([
    { oid: oids[0], state: 'read', content: Buffer.from('x\0\n\0') },
    { oid: missing, state: 'missing' },
    { oid: oids[2], state: 'read', content: Buffer.from('one\n') },
    { oid: oids[3], state: 'too_large', size: 5_000 },
    { oid: oids[4], state: 'read', content: Buffer.of() },
    { oid: oids[5], state: 'missing' },
    { oid: oids[6], state: 'read', content: Buffer.from('one\n') },
  ]);
});

test('no blobs are read when none are asked for, and one that git loses is a failure', async () => {
  const { git, place, plain } = makeRepository();
  const lossy: typeof git = {
    ...git,
    call: (where, args, options) =>
      git.call(where, args, `${args[1]}`.startsWith('--batch=') ? { ...options, input: '' } : options),
  };
  const oids = [plain('rev-parse', 'HEAD:a.txt')];
  expect(await collect(readBlobs(git, place, { oids: [] }))).toEqual([]);
  await expect(collect(readBlobs(lossy, place, { oids }))).rejects.toMatchObject({ code: 'git_failed' });
});

test('never more than a batch of blobs is held', async () => {
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`f${at}`, `${at}`.repeat(1_000)]));
  const { git, place } = makeRepository(files);
  const asked: number[] = [];
  const counting: typeof git = {
    ...git,
    call(where, args, options) {
      if (`${args[1]}`.startsWith('--batch=')) asked.push(`${options?.input}`.trim().split('\n').length);
      return git.call(where, args, options);
    },
  };
  const oids = (await collect(listIndex(git, place))).map(({ oid }) => oid);
  const read = await collect(readBlobs(counting, place, { oids, maxBatchBytes: 4_000 }));
  expect([read.length, Math.max(...asked), asked.reduce((sum, count) => sum + count)]).toEqual([12, 4, 12]);
});

verifies('X-119').test('a submodule is neither entered nor listed as changed', async () => {
  const { git, root, place, plain, commit } = makeRepository();
  const [origin, canary] = [join(root, 'origin'), join(root, 'canary')];
  initRepository(origin);
  plain('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', origin, 'sub');
  commit('a submodule');
  plain('config', '-f', '.git/modules/sub/config', 'core.fsmonitor', `touch ${canary}; false`);
  writeFileSync(join(place.toplevel, 'sub', 'dirty'), 'x');
  expect([await readStatus(git, place), await collect(listTouched(git, place))]).toEqual([[], []]);
  const before = existsSync(canary);
  plain('status');
  expect([before, existsSync(canary)]).toEqual([false, true]);
});
