import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collect, makeRepository, type TestRepository } from '../../test/support/repository.ts';
import { type RecordedEntry, readIndexFile, SEEN_RANGE } from './index-file.ts';
import { listIndex } from './tree.ts';

const FILES = {
  'a.ts': 'a\n',
  'dir/b.ts': 'bb\n',
  'dir/ünï code': 'c\n',
  [`deep/${'x'.repeat(200)}/${'y'.repeat(200)}.ts`]: 'd\n',
  'gone.ts': 'e\n',
};

function bytesOf({ place }: TestRepository): Buffer {
  return readFileSync(join(place.gitDir, 'index'));
}

function entriesOf(bytes: Buffer, oidBytes = 20): RecordedEntry[] | undefined {
  const entries: RecordedEntry[] = [];
  return readIndexFile(bytes, oidBytes, (entry) => entries.push(entry)) ? entries : undefined;
}

function fed({ checkout, env }: TestRepository, input: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: checkout, env, input, encoding: 'utf8' }).trim();
}

function stage(repository: TestRepository, lines: readonly string[]): void {
  fed(repository, `${lines.join('\n')}\n`, 'update-index', '--index-info');
}

async function expectAsGitSays(repository: TestRepository): Promise<void> {
  const theirs = await collect(listIndex(repository.git, repository.place));
  const ours = entriesOf(bytesOf(repository), (theirs[0]?.oid.length ?? 40) / 2);
  const shown = ours?.map(({ mode, oid, stage, path }) => ({ mode: mode.toString(8), oid, stage, path }));
  expect(shown).toEqual(theirs);
  expect(theirs.length).toBeGreaterThan(0);
}

test('an index of any version is read as git reads it, with what it saw of each file', async () => {
  const repository = makeRepository(FILES);
  for (const version of ['2', '4', '2']) {
    repository.plain('update-index', '--index-version', version);
    expect(bytesOf(repository).readUInt32BE(4)).toBe(Number(version));
    await expectAsGitSays(repository);
  }
  for (const { path, seen } of entriesOf(bytesOf(repository)) ?? []) {
    const { mtimeMs, ctimeMs, ino, size } = lstatSync(join(repository.checkout, path));
    expect(seen).toEqual({ mtimeMs, ctimeMs, ino: ino % SEEN_RANGE, size });
  }
});

test('entries that are only announced or conflict are read, those outside a sparse checkout left out', async () => {
  const repository = makeRepository(FILES);
  repository.write('new.ts', 'new\n');
  repository.plain('add', '--intent-to-add', 'new.ts');
  repository.plain('update-index', '--skip-worktree', 'gone.ts');
  expect(bytesOf(repository).readUInt32BE(4)).toBe(3);
  await expectAsGitSays(repository);
  repository.plain('update-index', '--index-version', '4');
  await expectAsGitSays(repository);
  const [first = '', second = ''] = ['a\n', 'other\n'].map((text) =>
    fed(repository, text, 'hash-object', '-w', '--stdin'),
  );
  stage(repository, [`100644 ${first} 1\tboth.ts`, `100644 ${first} 2\tboth.ts`, `100644 ${second} 3\tboth.ts`]);
  await expectAsGitSays(repository);
});

test('the tree of an index is told where git has worked it out, and not where something was added since', () => {
  const repository = makeRepository(FILES);
  const treeOf = () => readIndexFile(bytesOf(repository), 20, () => {})?.tree;
  repository.plain('checkout', '-q', '--detach');
  repository.plain('reset', '-q', '--hard');
  const tree = repository.plain('rev-parse', 'HEAD^{tree}').trim();
  expect(treeOf()).toBe(tree);
  repository.plain('update-index', '--index-version', '4');
  expect(treeOf()).toBe(tree);
  repository.write('dir/b.ts', 'other\n');
  repository.plain('add', 'dir/b.ts');
  expect(treeOf()).toBeUndefined();
  repository.plain('commit', '-q', '-m', 'other');
  expect(treeOf()).toBe(repository.plain('rev-parse', 'HEAD^{tree}').trim());
});

test('a path longer than its length can be written', async () => {
  const repository = makeRepository({});
  const oid = fed(repository, 'a\n', 'hash-object', '-w', '--stdin');
  const paths = [`${'long/'.repeat(900)}a.ts`, `${'long/'.repeat(900)}b.ts`, 'short.ts'];
  stage(
    repository,
    paths.map((path) => `100644 ${oid} 0\t${path}`),
  );
  await expectAsGitSays(repository);
});

test('what git had better read itself is left to it', () => {
  const repository = makeRepository(FILES);
  const whole = bytesOf(repository);
  const newer = Buffer.from(whole);
  newer.writeUInt32BE(5, 4);
  const cuts = [0, 3, 11, 40, 100, whole.length - 30, whole.length - 1].map((end) => whole.subarray(0, end));
  for (const bytes of [newer, ...cuts, Buffer.from('no index at all, but long enough'), Buffer.alloc(400, 0xff)])
    expect(entriesOf(bytes)).toBeUndefined();
  repository.plain('update-index', '--split-index');
  expect(entriesOf(bytesOf(repository))).toBeUndefined();
});
