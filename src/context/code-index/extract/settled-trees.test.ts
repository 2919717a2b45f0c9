import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { makeRepository } from '../../../../test/support/repository.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { ParserPool } from '../../lang/parser-pool.ts';
import { CodeIndex } from '../code-index.ts';
import { SettledTrees } from './settled-trees.ts';

const FILES = {
  'src/a.ts': 'export const a = 1;\n',
  'src/head.h': '#pragma once\n',
  LICENSE: 'free\n',
  'big.txt': 'x '.repeat(5 * 1024 * 1024),
  'logo.png': '\0\0\0',
};

function world() {
  const repository = makeRepository(FILES);
  repository.plain('reset', '-q', '--hard');
  const pool = new ParserPool({ workers: 1 });
  onTestFinished(() => pool.close());
  const open = async (worktree: string) => {
    const { git, root } = repository;
    const storeFile = join(root, 'index/code.db');
    const settings = { git, worktree, storeFile, parser: async () => pool, workers: 1, engine: 'test' };
    const index = await CodeIndex.open(settings);
    onTestFinished(() => index.close());
    const { tree, store, coverage, languages } = index;
    return { index, settled: new SettledTrees({ tree, store, coverage, languages }) };
  };
  return { repository, open };
}

verifies('C-030').test('a worktree that is equal to a tree with all its facts has nothing to look for', async () => {
  const { repository, open } = world();
  const first = await open(repository.checkout);
  await first.index.view();
  first.settled.note(); // nothing is read yet
  expect(first.settled.get()).toBeUndefined();
  await first.index.until(() => first.settled.get() !== undefined);
  expect(first.settled.get()).toMatchObject({ files: 5, skipped: [expect.any(String)] });

  const two = join(repository.root, 'two');
  repository.plain('worktree', 'add', '-q', '--detach', two);
  const second = await open(two);
  const view = await second.index.view();
  const state = () => [second.index.pending, second.index.extracted.words, second.settled.get() !== undefined];
  expect(state()).toEqual([0, 0, true]);
  const skipped = () => second.index.unread(view).skipped.map(({ path }) => path);
  expect(skipped()).toEqual(['big.txt']);

  writeFileSync(join(two, 'src/a.ts'), 'export const b = 1;\n');
  await second.index.view();
  expect(second.settled.get()).toBeUndefined();
  await second.index.until(() => second.index.pending === 0);
  expect(second.index.names.definers('b')).toHaveLength(1);
  repository.plain('-C', two, 'checkout', '-q', 'src/a.ts');
  await second.index.view();
  expect(state()).toEqual([0, 1, true]);
  rmSync(join(two, 'src/head.h'));
  await second.index.view();
  expect(second.settled.get()).toBeUndefined();
});

verifies('C-024').test('a tree is not settled any more once facts were dropped', async () => {
  const { repository, open } = world();
  const { index, settled } = await open(repository.checkout);
  await index.view();
  await index.until(() => settled.get() !== undefined);
  index.store.write(({ registry }) => registry.setMeta('drops', '7'));
  expect(settled.get()).toBeUndefined();
});
