import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { openNoted, sweepsIn } from '../../../test/support/context/noted-tools.ts';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';

/** The figures of code context, so far as they can be counted: what is read, parsed and written, whatever the machine. */

const COUNT = 80;
const KIB = 1024;

/** About as much text for a definition as code has. */
function sourceOf(at: number): string {
  const used = (at * 7 + 1) % COUNT;
  const steps = Array.from({ length: 8 }, (_, step) => {
    const lines = Array.from({ length: 8 }, (__, line) => `  const part${line} = value * ${line} + ${step};`);
    return `export function item${at}Step${step}(value: number): number {\n${lines.join('\n')}\n  return item${used}(part7);\n}\n`;
  });
  return `// ${at}\nimport { item${used} } from './item${used}.ts';\n\nexport const item${at} = (value: number) => value;\n${steps.join('\n')}`;
}

function sources(count = COUNT): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`src/item${at}.ts`, sourceOf(at)]));
}

verifies('C-123', 'C-050').test('a cold repository is usable before anything is parsed', async () => {
  const { index, ask, hold } = await openNoted(makeRepository(sources()));
  hold(true);
  const usable = await ask('index_code', { path: '.' });
  const found = await ask('code_search', { query: '"item7Step3(value"' });
  const seen = [usable.status, usable.files_indexed, usable.pending, found.results[0]?.file_path];
  expect(seen).toEqual(['success', COUNT, COUNT, 'src/item7.ts']);
  expect(index.extracted).toEqual({ words: COUNT, structures: 0 });
});

verifies('C-021').test(
  'a complete index parses every content once, whatever the number of files that have it',
  async () => {
    const repository = makeRepository({ ...sources(), 'src/copy.ts': sourceOf(3) });
    const { parsed, ask } = await openNoted(repository);
    await ask('index_code', { path: '.', wait: 'complete' });
    expect([parsed.length, new Set(parsed).size]).toEqual([COUNT, COUNT]);
  },
);

verifies('C-124').test(
  'of a large repository files are parsed while the words of others are still to be read',
  async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => [
      `src/f${at}.ts`,
      `// ${at}\nexport const f${at} = ${at};\n`,
    ]);
    const { parsed, index, ask } = await openNoted(makeRepository(Object.fromEntries(many)));
    const unread: number[] = [];
    vi.spyOn(parsed, 'push').mockImplementation(() => unread.push(index.pendingWords));
    await ask('index_code', { path: '.', wait: 'complete' });
    expect([unread.length, (unread[0] ?? 0) > 0, unread.at(-1)]).toEqual([5_000, true, 0]);
  },
);

verifies('C-120', 'C-030').test(
  'a second identical worktree parses nothing, makes no sketch and adds next to nothing to the store',
  async () => {
    const repository = makeRepository(sources());
    const first = await openNoted(repository);
    await first.ask('index_code', { path: '.', wait: 'complete' });
    await first.close();
    const before = statSync(first.storeFile).size;
    const two = join(repository.root, 'two');
    repository.plain('worktree', 'add', '-q', '-b', 'two', two);
    const second = await openNoted(repository, two);
    const { reused, files_indexed } = await second.ask('index_code', { path: two, wait: 'complete' });
    expect([reused, files_indexed, second.parsed, second.index.extracted]).toEqual([
      ...[COUNT, COUNT, []],
      { words: 0, structures: 0 },
    ]);
    // What git's index says of each file is compared by us: git would hash what was checked out in the second of its index.
    expect(second.commands.filter((line) => /diff-files|--stage/.test(line))).toEqual([]);
    await second.close();
    expect(statSync(first.storeFile).size - before).toBeLessThan(64 * KIB);
  },
);

verifies('C-121').test(
  'a warm start answers an outline from one fact: nothing is listed, loaded or parsed',
  async () => {
    const repository = makeRepository(sources());
    const first = await openNoted(repository);
    await first.ask('index_code', { path: '.', wait: 'complete' });
    await first.close();
    const warm = await openNoted(repository);
    const { store } = warm.index;
    const looks = [vi.spyOn(store, 'body'), vi.spyOn(store, 'sketches'), vi.spyOn(store, 'covered')];
    const { symbols, basis } = await warm.ask('get_file_outline', { file_path: 'src/item5.ts' });
    expect([symbols.length, basis.stage, basis.complete]).toEqual([9, 2, true]);
    expect(looks.map((look) => look.mock.calls.length)).toEqual([1, 0, 0]);
    expect([warm.parsed, sweepsIn(warm.commands)]).toEqual([[], 0]);
  },
);

verifies('C-122').test('one changed file costs one parse of it and no look at any other', async () => {
  const repository = makeRepository(sources());
  const { parsed, commands, ask, index } = await openNoted(repository);
  await ask('index_code', { path: '.', wait: 'complete' });
  parsed.length = 0;
  commands.length = 0;
  const looks = vi.spyOn(index.coverage, 'words');
  for (let edit = 0; edit < 5; edit++) {
    repository.write('src/item5.ts', `${sourceOf(5)}export function edited${edit}() {}\n`);
    const { symbols } = await ask('get_file_outline', { file_path: 'src/item5.ts' });
    expect(symbols.at(-1)?.name).toBe(`edited${edit}`);
  }
  expect([parsed, sweepsIn(commands)]).toEqual([Array(5).fill('5'), 0]);
  expect(looks.mock.calls.length).toBeLessThan(COUNT);
});

verifies('C-128').test('a warm question reads the facts of what it answers, and of no other file', async () => {
  const { ask, index, parsed } = await openNoted(makeRepository(sources()));
  await ask('index_code', { path: '.', wait: 'complete' });
  await ask('find_symbols', { query: 'item' }); // the names are read once
  parsed.length = 0;
  index.structures.forget();
  const bodies = vi.spyOn(index.store, 'body');
  const covered = vi.spyOn(index.store, 'covered');
  const reads = async (work: () => Promise<unknown>) => {
    bodies.mockClear();
    await work();
    index.structures.forget();
    return bodies.mock.calls.length;
  };
  expect(await reads(() => ask('get_symbol', { name: 'item5Step3' }))).toBe(1);
  expect(await reads(() => ask('find_symbols', { query: 'item5Step3', limit: 1 }))).toBe(1);
  expect(await reads(() => ask('get_file_outline', { file_path: 'src/item5.ts' }))).toBe(1);
  expect(await reads(() => ask('code_search', { query: 'item5Step3' }))).toBeLessThanOrEqual(200);
  expect([parsed, covered.mock.calls]).toEqual([[], []]);
});

verifies('C-129', 'C-064').test('a second question with other words builds no second map', async () => {
  const { ask, index } = await openNoted(makeRepository(sources()));
  await ask('index_code', { path: '.', wait: 'complete' });
  await ask('get_symbol', { name: 'item1' });
  const defined = vi.spyOn(index.store, 'defined');
  const sketches = vi.spyOn(index.words, 'each');
  const wholes = () => defined.mock.calls.filter(([after]) => after === 0).length;
  await ask('explore_code', { question: 'where is item5 used?' });
  const first = [wholes(), sketches.mock.calls.length];
  await ask('explore_code', { question: 'what calls item9Step2 and why' });
  expect([first, [wholes(), sketches.mock.calls.length]]).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

verifies('C-130', 'C-024').test(
  'the store is smaller than the source, and twenty worktrees with edits of their own add less than a third',
  async () => {
    // Enough that the empty tables, a page each, do not decide.
    const files = sources(2 * COUNT);
    const repository = makeRepository(files);
    const source = Object.values(files).reduce((sum, text) => sum + text.length, 0);
    const first = await openNoted(repository);
    await first.ask('index_code', { path: '.', wait: 'complete' });
    await first.close();
    const one = statSync(first.storeFile).size;
    expect(one).toBeLessThan(source);
    for (let at = 0; at < 20; at++) {
      const worktree = join(repository.root, `many-${at}`);
      repository.plain('worktree', 'add', '-q', '--detach', worktree);
      appendFileSync(join(worktree, `src/item${at}.ts`), `export const edited${at} = ${at};\n`);
      const tools = await openNoted(repository, worktree);
      const { reused } = await tools.ask('index_code', { path: worktree, wait: 'complete' });
      expect([reused, tools.parsed.length]).toEqual([2 * COUNT - 1, 1]);
      await tools.close();
    }
    expect(statSync(first.storeFile).size).toBeLessThan(one * 1.3);
  },
  180_000,
);

verifies('C-125').test(
  'a server stays under its ceiling through a cold index, a thousand questions and ten switches of branch',
  async () => {
    const repository = makeRepository(sources());
    repository.plain('checkout', '-q', '-b', 'other');
    for (let at = 0; at < COUNT; at += 2)
      repository.write(`src/item${at}.ts`, `${sourceOf(at)}export const other${at} = 1;\n`);
    repository.commit('other');
    const client = new ServerClient({ worktree: repository.checkout, store: join(repository.root, 'index/code.db') });
    await client.call('index_code', { path: repository.checkout, wait: 'complete' });
    const questions = [
      (at: number) => client.call('get_symbol', { name: `item${at % COUNT}Step1` }),
      (at: number) => client.call('find_symbols', { query: `item${at % COUNT}` }),
      (at: number) => client.call('code_search', { query: `part3 item${at % COUNT}` }),
      (at: number) => client.call('get_symbol_references', { name: `item${at % COUNT}` }),
      (at: number) => client.call('get_file_outline', { file_path: `src/item${at % COUNT}.ts` }),
    ];
    for (let turn = 0; turn < 10; turn++) {
      repository.plain('checkout', '-q', turn % 2 === 0 ? 'main' : 'other');
      const asked = Array.from({ length: 100 }, (_, at) => questions[at % questions.length]?.(turn * 100 + at));
      await Promise.all(asked);
    }
    const peak = client.peakMb();
    await client.close();
    expect(peak).toBeLessThanOrEqual(256);
  },
  180_000,
);
