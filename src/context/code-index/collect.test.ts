import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { writeFacts } from '../../../test/support/context/write-facts.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { collect, isDue } from './collect.ts';
import { FactStore } from './store/fact-store.ts';
import type { Fact } from './store/fact-table.ts';
import { blobId } from './tree/blob-id.ts';
import { Remembrance } from './tree/remembrance.ts';
import { WorktreeTree } from './tree/worktree-tree.ts';

const DAY_MS = 86_400_000;

function wordsOf(text: string, size = 40_000): Fact {
  const oid = blobId(Buffer.from(text), 'sha1');
  return {
    oid,
    lang: '',
    stage: 1,
    extractor: 'v',
    status: 'ok',
    data: new Uint8Array(size),
    bytes: text.length,
  };
}

verifies('C-024').test('what no registered worktree maps goes when room is needed, and nothing else', async () => {
  const repository = makeRepository({ 'a.ts': 'committed\n', 'b.ts': 'changed later\n' });
  const { git, place, root, plain } = repository;
  const two = join(root, 'two');
  plain('worktree', 'add', '-q', '-b', 'two', two);
  writeFileSync(join(two, 'b.ts'), 'dirty in two\n');
  writeFileSync(join(two, 'c.ts'), 'untracked in two\n');
  writeFileSync(join(two, 'd.ts'), 'staged in two\n');
  plain('-C', two, 'add', 'd.ts');
  const store = new FactStore(join(root, 'index/code.db'));
  const open = async (toplevel: string) => {
    const own = toplevel === place.toplevel ? place : await git.locate(toplevel);
    const tree = new WorktreeTree({ git, checkout: own, format: 'sha1' });
    await tree.sweep();
    await new Remembrance({ git, tree, store }).keep();
    return tree;
  };
  const [tree] = [await open(place.toplevel), await open(two)];
  const ofTwo = ['dirty in two\n', 'untracked in two\n', 'staged in two\n'];
  const texts = ['committed\n', 'changed later\n', ...ofTwo, 'nobody has this\n'];
  writeFacts(store, texts.map(wordsOf));
  expect(await collect({ git, tree, store })).toBe(1);
  const left = () => new Set(store.covered(1).flatMap(({ oids }) => oids));
  expect(left()).toEqual(new Set(texts.slice(0, 5).map((text) => wordsOf(text).oid)));
  plain('worktree', 'remove', '--force', two);
  rmSync(two, { recursive: true, force: true });
  expect(await collect({ git, tree, store })).toBe(3);
  expect(left()).toEqual(new Set(texts.slice(0, 2).map((text) => wordsOf(text).oid)));
  store.close();
});

/** A checkout of one file, so large that no store of these tests is tight, and its store. */
async function openRoomy(text = `${'x'.repeat(200_000)}\n`) {
  const { git, place, root, write } = makeRepository({ 'a.ts': text });
  const store = new FactStore(join(root, 'index/code.db'));
  onTestFinished(() => store.close());
  const tree = new WorktreeTree({ git, checkout: place, format: 'sha1' });
  await tree.sweep();
  const left = () => new Set(store.covered(1).flatMap(({ oids }) => oids));
  return { parts: { git, tree, store }, store, tree, text, write, left };
}

function travel(days: number): void {
  vi.setSystemTime(Date.now() + days * DAY_MS);
}

verifies('C-024').test(
  'with room enough, what no worktree maps stays for fourteen days after it was last seen',
  async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { parts, store, text, tree, write, left } = await openRoomy();
    writeFacts(store, [wordsOf(text, 10), wordsOf('old\n', 10)]);
    travel(5);
    writeFacts(store, [wordsOf('younger\n', 10)]);
    travel(9);
    expect([await collect(parts), left().size]).toEqual([0, 3]);
    travel(1);
    expect([await collect(parts), left()]).toEqual([1, new Set([text, 'younger\n'].map((each) => wordsOf(each).oid))]);
    // What was mapped until today counts from today, however long ago it was extracted.
    write('a.ts', `${text}changed\n`);
    await tree.sweep();
    travel(14);
    expect([await collect(parts), left()]).toEqual([1, new Set([wordsOf(text).oid])]);
    travel(1);
    expect([await collect(parts), left().size]).toEqual([1, 0]);
  },
);

verifies('C-024').test(
  'a store is looked through weekly, and at once when it is half as large again as its source',
  async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { parts, store } = await openRoomy();
    const dues = [isDue(parts)];
    travel(6);
    dues.push(isDue(parts));
    travel(2);
    dues.push(isDue(parts));
    await collect(parts);
    dues.push(isDue(parts));
    writeFacts(store, [wordsOf('large\n', 400_000)]);
    dues.push(isDue(parts));
    await collect(parts);
    expect([...dues, isDue(parts)]).toEqual([false, false, true, false, true, false]);
  },
);

verifies('C-024').test('what went leaves the file as well', async () => {
  const { parts, store } = await openRoomy('a\n');
  writeFacts(
    store,
    Array.from({ length: 50 }, (_, at) => wordsOf(`dropped ${at}\n`)),
  );
  expect([await collect(parts), store.freePages()]).toEqual([50, 0]);
  store.close();
  expect(statSync(store.file).size).toBeLessThan(50 * 40_000 * 0.1);
});

verifies('C-024').test('how large a store is, is measured by the largest worktree that uses it', async () => {
  const { git, place, root, plain } = makeRepository({ 'a.ts': 'a\n' });
  const large = join(root, 'large');
  plain('worktree', 'add', '-q', '-b', 'large', large);
  writeFileSync(join(large, 'b.ts'), `${'x'.repeat(1_000_000)}\n`);
  const store = new FactStore(join(root, 'index/code.db'));
  onTestFinished(() => store.close());
  const open = async (own: typeof place) => {
    const tree = new WorktreeTree({ git, checkout: own, format: 'sha1' });
    await tree.sweep();
    await new Remembrance({ git, tree, store }).keep();
    return { git, tree, store };
  };
  const small = await open(place);
  writeFacts(store, [wordsOf('a\n')]);
  const alone = isDue(small);
  await open(await git.locate(large));
  expect([alone, isDue(small)]).toEqual([true, false]);
});

verifies('C-024').test(
  'what worktrees map stays, however large the store is, and that is noted until it is so no more',
  async () => {
    const { parts, store, text, tree, write, left } = await openRoomy('a\n');
    const noted = () => store.look(({ registry }) => registry.outgrown(), undefined);
    writeFacts(store, [wordsOf(text, 3_000_000)]);
    expect([await collect(parts), left().size]).toEqual([0, 1]);
    expect(noted()).toBeGreaterThan(1_000_000);
    write('b.ts', `${'x'.repeat(3_000_000)}\n`);
    await tree.sweep();
    await collect(parts);
    expect([left().size, noted()]).toEqual([1, undefined]);
  },
);
