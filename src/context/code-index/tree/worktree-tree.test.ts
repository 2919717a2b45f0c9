import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { expect } from 'vitest';
import { makeRepository } from '../../../../test/support/repository.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { blobId } from './blob-id.ts';
import { WorktreeTree } from './worktree-tree.ts';

function treeOf({ git, place }: ReturnType<typeof makeRepository>): WorktreeTree {
  return new WorktreeTree({ git, checkout: place, format: 'sha1' });
}

function oidOf(text: string): string {
  return blobId(Buffer.from(text), 'sha1');
}

function shown(tree: WorktreeTree): string[] {
  return [...tree.files.values()].map(({ path, isLocal }) => `${path}${isLocal ? ' local' : ''}`).sort();
}

verifies('C-030', 'C-032').test(
  'the map has what git tracks or would, as it is on disk, and nothing else',
  async () => {
    const repository = makeRepository({
      'a.ts': '1\n',
      'b.ts': '2\n',
      'c.ts': '3\n',
      'd/e.ts': '4\n',
      '.gitignore': 'out/\n',
    });
    const { checkout, write, plain } = repository;
    write('.git/info/exclude', 'private\n');
    for (const path of ['out/x.ts', 'private', 'new.ts']) write(path, path);
    write('b.ts', 'changed\n');
    rmSync(join(checkout, 'c.ts'));
    symlinkSync('/etc', join(checkout, 'link'));
    plain('add', 'link');
    renameSync(join(checkout, 'd'), join(repository.root, 'd'));
    symlinkSync(join(repository.root, 'd'), join(checkout, 'd'));
    const tree = treeOf(repository);
    await tree.sweep();
    expect(shown(tree)).toEqual(['.gitignore', 'a.ts', 'b.ts local', 'new.ts local']);
    expect(tree.files.get('b.ts')?.oid).toBe(oidOf('changed\n'));
    expect(tree.files.get('a.ts')?.oid).toBe(plain('rev-parse', 'HEAD:a.ts'));
  },
);

verifies('C-004').test('an index that names files outside of its worktree shows none of them', async () => {
  const repository = makeRepository({ 'aa/b.ts': '1\n', 'cc/dd/ee/b.ts': '2\n', 'f.ts': '3\n' });
  writeFileSync(join(repository.root, 'b.ts'), 'outside\n');
  const file = join(repository.place.gitDir, 'index');
  const whole = readFileSync(file, 'latin1');
  for (const [path, forged] of [
    ['aa/b.ts', '../b.ts'],
    ['aa/b.ts', '/a/b.ts'],
    ['cc/dd/ee/b.ts', 'cc/../../b.ts'],
  ] as const) {
    writeFileSync(file, whole.replace(path, forged), 'latin1');
    const tree = treeOf(repository);
    await tree.sweep();
    expect(shown(tree).filter((each) => each.startsWith(forged))).toEqual([]);
    expect(shown(tree)).toContain('f.ts');
  }
});

verifies('C-032').test(
  'what a filter stands before is hashed from disk, line endings of git are no change',
  async () => {
    const repository = makeRepository({
      '.gitattributes': '*.bin filter=lfs\n*.txt text eol=crlf\n',
      'x.bin': 'pointer\n',
      'y.txt': 'a\nb\n',
    });
    const { checkout, plain } = repository;
    writeFileSync(join(checkout, 'y.txt'), 'a\r\nb\r\n');
    plain('add', 'y.txt');
    const tree = treeOf(repository);
    await tree.sweep();
    expect(shown(tree)).toEqual(['.gitattributes', 'x.bin local', 'y.txt']);
    expect(tree.files.get('y.txt')?.oid).toBe(plain('rev-parse', 'HEAD:y.txt'));
  },
);

verifies('C-032').test('conflicted entries are read from disk, and a repository with SHA-256 works', async () => {
  const repository = makeRepository({ 'a.ts': '1\n' });
  const { plain, write, commit } = repository;
  plain('checkout', '-q', '-b', 'side');
  write('a.ts', 'side\n');
  commit('side');
  plain('checkout', '-q', 'main');
  write('a.ts', 'main\n');
  commit('main');
  expect(() => plain('merge', '-q', 'side')).toThrow();
  const tree = treeOf(repository);
  await tree.sweep();
  expect(shown(tree)).toEqual(['a.ts local']);

  const folder = join(repository.root, 'long');
  execFileSync('git', ['init', '-q', '--object-format=sha256', '-b', 'main', folder], { env: repository.env });
  writeFileSync(join(folder, 'a.ts'), '1\n');
  execFileSync('git', ['-C', folder, 'add', 'a.ts'], { env: repository.env });
  const place = { toplevel: folder, gitDir: join(folder, '.git'), commonDir: join(folder, '.git') };
  const long = new WorktreeTree({ git: repository.git, checkout: place, format: 'sha256' });
  await long.sweep();
  expect(long.files.get('a.ts')?.oid).toBe(blobId(Buffer.from('1\n'), 'sha256'));
});

verifies('C-033').test('an edit of the same size within a tick, with its time set back, is seen', async () => {
  const repository = makeRepository({ 'a.ts': 'aaaa\n', 'b.ts': 'bbbb\n' });
  const tree = treeOf(repository);
  const file = join(repository.checkout, 'a.ts');
  const past = new Date('2020-01-01T00:00:00Z');
  utimesSync(file, past, past);
  await tree.sweep();
  for (let round = 0; round < 50; round++) {
    const text = `${String(round).padStart(4, 'x')}\n`;
    writeFileSync(file, text);
    utimesSync(file, past, past);
    await tree.sweep();
    expect(tree.files.get('a.ts')?.oid).toBe(oidOf(text));
  }
});

verifies('C-033').test('what a question saw of a file while a sweep was under way stays in the map', async () => {
  const repository = makeRepository({ 'edited.ts': '1\n', 'gone.ts': '2\n' });
  const tree = treeOf(repository);
  await tree.sweep();
  const sweep = tree.sweep();
  await breathe(); // it has looked at what is tracked, and waits for git
  repository.write('edited.ts', 'edited\n');
  rmSync(join(repository.checkout, 'gone.ts'));
  for (const path of ['edited.ts', 'gone.ts']) tree.refresh(path);
  await sweep;
  expect([...tree.files.values()].map(({ path, oid }) => [path, oid])).toEqual([['edited.ts', oidOf('edited\n')]]);
});

verifies('C-033').test('concurrent questions share a sweep, and none rests on one that began before it', async () => {
  const repository = makeRepository({ 'a.ts': '1\n' });
  const tree = treeOf(repository);
  const first = tree.sweep();
  repository.write('a.ts', '2\n');
  const [second, third] = [tree.sweep(), tree.sweep()];
  expect(second).toBe(third);
  await Promise.all([first, second]);
  expect(tree.files.get('a.ts')?.oid).toBe(oidOf('2\n'));
});

verifies('C-031').test(
  'staging, committing, switching and stashing leave each path with the blob it has on disk',
  async () => {
    const repository = makeRepository({ 'a.ts': '1\n', 'b.ts': '2\n' });
    const { plain, write, commit, checkout } = repository;
    const tree = treeOf(repository);
    const check = async () => {
      await tree.sweep();
      const disk = ['a.ts', 'b.ts'].map((path) =>
        execFileSync('git', ['hash-object', join(checkout, path)])
          .toString()
          .trim(),
      );
      expect(['a.ts', 'b.ts'].map((path) => tree.files.get(path)?.oid)).toEqual(disk);
    };
    await check();
    write('a.ts', '3\n');
    plain('add', 'a.ts');
    await check();
    write('a.ts', '4\n');
    await check();
    commit('four');
    await check();
    plain('checkout', '-q', 'HEAD~1');
    await check();
    write('b.ts', '9\n');
    plain('stash', '-q');
    await check();
    plain('checkout', '-q', 'main');
    await check();
    expect(shown(tree)).toEqual(['a.ts', 'b.ts']);
  },
);

verifies('C-030').test('a kept overlay is believed only for a file that has not changed since', async () => {
  const repository = makeRepository({ 'a.ts': '1\n', 'b.ts': '2\n' });
  repository.write('a.ts', 'dirty\n');
  repository.write('b.ts', 'dirty too\n');
  const past = new Date(Date.now() - 60_000);
  const tree = treeOf(repository);
  await tree.sweep();
  const overlay = tree.overlay();
  expect(overlay.map(({ path }) => path)).toEqual(['a.ts', 'b.ts']);
  repository.write('b.ts', 'other too\n');
  utimesSync(join(repository.checkout, 'b.ts'), past, past);
  const next = new WorktreeTree({ git: repository.git, checkout: repository.place, format: 'sha1', overlay });
  await next.sweep();
  expect([next.files.get('a.ts')?.oid, next.files.get('b.ts')?.oid]).toEqual([oidOf('dirty\n'), oidOf('other too\n')]);
});

verifies('C-032').test('a file that may not be read is left out', async () => {
  const repository = makeRepository({ 'a.ts': '1\n', 'b.ts': '2\n' });
  repository.write('b.ts', 'secret\n');
  chmodSync(join(repository.checkout, 'b.ts'), 0);
  const tree = treeOf(repository);
  await tree.sweep();
  // As root every file may be read.
  expect(shown(tree)).toEqual(process.getuid?.() === 0 ? ['a.ts', 'b.ts local'] : ['a.ts']);
});
