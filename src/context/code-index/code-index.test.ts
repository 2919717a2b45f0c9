import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { writeFacts } from '../../../test/support/context/write-facts.ts';
import { makeRepository, type TestRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from '../lang/parser-pool.ts';
import { CodeIndex } from './code-index.ts';
import { collect } from './collect.ts';
import { NameList } from './query/name-list.ts';
import { getSymbol } from './query/symbols.ts';
import type { Fact } from './store/fact-table.ts';
import { SKETCH_VERSION } from './words/sketch.ts';

async function openIndex(repository: TestRepository, worktree = repository.checkout): Promise<CodeIndex> {
  const pool = new ParserPool({ workers: 1 });
  const shared = { git: repository.git, storeFile: join(repository.root, 'code.db'), workers: 1, engine: 'test' };
  const index = await CodeIndex.open({ ...shared, worktree, parser: async () => pool });
  onTestFinished(async () => {
    await index.close();
    await pool.close();
  });
  return index;
}

async function isKnown(index: CodeIndex, key: { oid: string; lang: string; stage: 1 | 2 }): Promise<boolean> {
  return index.until(() => index.store.body(key) !== undefined, { ms: 20_000 });
}

verifies('C-022').test(
  'what another worktree wants is read from git when no file here has it, and what is local is left to its own server',
  async () => {
    // So large that the store is not: else what no worktree maps would go at once.
    const repository = makeRepository({ 'a.ts': 'export const a = 1;\n', 'large.md': 'word\n'.repeat(100_000) });
    repository.plain('checkout', '-q', '-b', 'other');
    repository.write('b.ts', 'export const fromGit = 1;\n');
    repository.commit('only there');
    const oid = repository.plain('rev-parse', 'HEAD:b.ts');
    repository.plain('checkout', '-q', 'main');
    const [here, other] = [await openIndex(repository), await openIndex(repository)];
    const local = repository.plain('hash-object', '-w', 'a.ts').replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const words = { lang: '', stage: 1 as const, extractor: SKETCH_VERSION };
    const structure = { lang: 'typescript', stage: 2 as const, extractor: here.languages.extractor('typescript') };
    other.store.write(({ claims }) => {
      claims.want([words, structure].map((each) => ({ ...each, oid, rank: 1 })));
      claims.claim({ ...words, oid: local }, true);
    });
    await here.view();
    expect([await isKnown(here, { ...words, oid }), await isKnown(here, { ...structure, oid })]).toEqual([true, true]);
    expect(here.names.definers('fromGit').map((row) => row.oid)).toEqual([oid]);
    expect(here.store.write(({ claims }) => claims.claim({ ...words, oid: local }, true))).toBe('busy');
    // It has no path here, so it is no part of any answer here.
    expect((await here.view()).withBlob(oid)).toEqual([]);
  },
);

verifies('C-022', 'C-030').test('dirty content is extracted by the server of its own worktree', async () => {
  const repository = makeRepository({ 'a.ts': 'export const a = 1;\n' });
  const two = join(repository.root, 'two');
  repository.plain('worktree', 'add', '-q', '-b', 'two', two);
  writeFileSync(join(two, 'a.ts'), 'export const dirtyInTwo = 1;\n');
  const [one, other] = [await openIndex(repository), await openIndex(repository, two)];
  await Promise.all([one.view(), other.view()]);
  const isDone = (index: CodeIndex) => index.until(() => index.pendingWords + index.pendingStructures === 0);
  expect([await isDone(one), await isDone(other)]).toEqual([true, true]);
  expect(other.extracted.structures).toBeGreaterThan(0);
  expect(other.names.definers('dirtyInTwo')).toHaveLength(1);
  const [{ oid = '' } = {}] = other.names.definers('dirtyInTwo');
  expect((await one.view()).withBlob(oid)).toEqual([]);
});

verifies('C-022', 'C-024', 'C-144').test(
  'dirty content that its server has not registered yet is kept by the others, however small the store may be',
  async () => {
    const repository = makeRepository({ 'a.ts': 'export const a = 1;\n' });
    const two = join(repository.root, 'two');
    repository.plain('worktree', 'add', '-q', '-b', 'two', two);
    const [one, other] = [await openIndex(repository), await openIndex(repository, two)];
    const isDone = (index: CodeIndex) => index.until(() => index.pendingWords + index.pendingStructures === 0);
    await Promise.all([one.view(), other.view()]);
    await Promise.all([isDone(one), isDone(other)]);
    await other.until(() => one.store.look(({ registry }) => registry.worktree(two), undefined) !== undefined);
    // Within a minute of what it told of itself, it tells nothing more.
    writeFileSync(join(two, 'a.ts'), 'export const dirtyInTwo = 1;\n');
    await other.view();
    await isDone(other);
    await other.until(() => one.store.look(({ registry }) => registry.fresh(two), []).length > 0);
    expect(await collect({ git: repository.git, tree: one.tree, store: one.store })).toBe(0);
    expect(other.names.definers('dirtyInTwo')).toHaveLength(1);
  },
);

verifies('C-013', 'C-024').test(
  'what another server drops is extracted again by the one that has it, and no answer is complete without it',
  async () => {
    const repository = makeRepository({ 'a.ts': 'export const a = 1;\n' });
    const two = join(repository.root, 'two');
    repository.plain('worktree', 'add', '-q', '-b', 'two', two);
    const [one, other] = [await openIndex(repository), await openIndex(repository, two)];
    const isDone = (index: CodeIndex) => index.until(() => index.pendingWords + index.pendingStructures === 0);
    await Promise.all([one.view(), other.view()]);
    await Promise.all([isDone(one), isDone(other)]);
    await other.until(() => one.store.look(({ registry }) => registry.worktree(two), undefined) !== undefined);
    // Within a minute of what it told of itself, nobody else knows of this.
    writeFileSync(join(two, 'a.ts'), 'export const dirtyInTwo = 1;\n');
    let dropped = 0;
    for (let times = 0; dropped === 0 && times < 3; times++) {
      await other.view();
      await isDone(other);
      other.store.write(({ registry }) => registry.forgetFresh(two)); // as a server of an older Reef has it
      // Nothing, if one of the two came to rest just now: each drops by itself, once.
      dropped = await collect({ git: repository.git, tree: one.tree, store: one.store });
    }
    expect(dropped).toBe(1);
    const { basis, symbols } = await getSymbol(
      { index: other, names: new NameList(other.store) },
      { name: 'dirtyInTwo' },
    );
    expect(basis.complete).toBe(symbols.length === 1);
    expect(await isDone(other)).toBe(true);
    expect(
      (await getSymbol({ index: other, names: new NameList(other.store) }, { name: 'dirtyInTwo' })).symbols,
    ).toHaveLength(1);
  },
);

verifies('C-024').test('a server with nothing else to do drops what nobody maps, and gives its room back', async () => {
  const repository = makeRepository({ 'a.ts': 'export const a = 1;\n' });
  const index = await openIndex(repository);
  const facts = Array.from({ length: 30 }, (_, at): Fact => {
    const oid = String(at).padStart(40, '0');
    return { oid, lang: '', stage: 1, extractor: 'v', status: 'ok', data: new Uint8Array(40_000), bytes: 1 };
  });
  writeFacts(index.store, facts);
  const before = index.store.bytes();
  const known = () => index.store.covered(1).flatMap(({ oids }) => oids).length;
  await index.view();
  expect(await index.until(() => known() === 1 && index.store.freePages() === 0)).toBe(true);
  expect(index.store.bytes()).toBeLessThan(before / 2);
});
