import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../../../test/fixtures/git/repository.ts';
import { verifies } from '../../../../test/verifies.ts';
import { blobId } from '../tree/blob-id.ts';
import { Remembrance } from '../tree/remembrance.ts';
import { WorktreeTree } from '../tree/worktree-tree.ts';
import { collect } from './collect.ts';
import type { Fact } from './fact.ts';
import { FactStore } from './fact-store.ts';

function wordsOf(text: string): Fact {
  const oid = blobId(Buffer.from(text), 'sha1');
  return {
    oid,
    lang: '',
    stage: 1,
    extractor: 'v',
    status: 'ok',
    data: new Uint8Array(40_000),
    bytes: text.length,
    lines: 1,
  };
}

verifies('C-024').test('what no registered worktree maps goes when room is needed, and nothing else', async () => {
  const repository = makeRepository({ 'a.ts': 'committed\n', 'b.ts': 'changed later\n' });
  const { git, place, root, plain } = repository;
  const two = join(root, 'two');
  plain('worktree', 'add', '-q', '-b', 'two', two);
  writeFileSync(join(two, 'b.ts'), 'dirty in two\n');
  writeFileSync(join(two, 'c.ts'), 'untracked in two\n');
  const store = new FactStore(join(root, 'index/code.db'));
  const open = async (toplevel: string) => {
    const own = toplevel === place.toplevel ? place : await git.locate(toplevel);
    const tree = new WorktreeTree({ git, place: own, format: 'sha1' });
    await tree.sweep();
    await new Remembrance({ git, tree, store }).keep();
    return tree;
  };
  const [tree] = [await open(place.toplevel), await open(two)];
  const texts = ['committed\n', 'changed later\n', 'dirty in two\n', 'untracked in two\n', 'nobody has this\n'];
  store.put(texts.map(wordsOf));
  expect(await collect({ git, tree, store })).toBe(1);
  const left = () => new Set(store.covered(1).map(({ oid }) => oid));
  expect(left()).toEqual(new Set(texts.slice(0, 4).map((text) => wordsOf(text).oid)));
  plain('worktree', 'remove', '--force', two);
  rmSync(two, { recursive: true, force: true });
  expect(await collect({ git, tree, store })).toBe(2);
  expect(left()).toEqual(new Set(texts.slice(0, 2).map((text) => wordsOf(text).oid)));
  store.close();
});
