import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository, type TestRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';

const SHOP = {
  'src/cart.ts': `import { roundPrice } from './price.ts';

export class Cart {
  total(items: number[]): number {
    return roundPrice(items.reduce((sum, item) => sum + item, 0));
  }
}

export const emptyCart = () => new Cart();
`,
  'src/price.ts': `/** roundPrice keeps two digits. */
export function roundPrice(value: number): number {
  return Math.round(value * 100) / 100;
}
`,
  'src/other.py': `from shop import roundPrice

def show(value):
    return roundPrice(value)
`,
  'README.md': 'Call roundPrice to round.\n',
};

function serve(repository: TestRepository, worktree = repository.checkout): ServerClient {
  const client = new ServerClient({ worktree, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => {
    await client.close();
  });
  return client;
}

async function indexed(files: Record<string, string> = SHOP) {
  const repository = makeRepository(files);
  const client = serve(repository);
  await client.call('index_code', { path: repository.checkout, wait: 'complete' });
  return { repository, client };
}

function places({ references }: { references: { location: { file: string; start_line: number } }[] }): string[] {
  return references.map(({ location }) => `${location.file}:${location.start_line}`).sort();
}

verifies('C-013', 'C-050').test(
  'indexing answers with what it covers, and a second time everything is reused',
  async () => {
    const repository = makeRepository(SHOP);
    const first = serve(repository);
    const cold = await first.call('index_code', { path: repository.checkout });
    const head = repository.plain('rev-parse', 'HEAD');
    expect(cold).toEqual({
      status: 'success',
      files_indexed: 4,
      symbols_found: expect.any(Number),
      errors: [],
      duration_ms: expect.any(Number),
      reused: 0,
      pending: cold.basis.pending,
      basis: {
        worktree: repository.checkout,
        head,
        stage: cold.basis.pending > 0 ? 1 : 2,
        complete: cold.basis.pending === 0,
        pending: expect.any(Number),
        skipped: 0,
        dirtyFiles: 0,
        freshAsOf: expect.any(String),
        watch: expect.any(String),
        engine: expect.stringMatching(/^reef /),
      },
    });
    await first.call('index_code', { path: repository.checkout, wait: 'complete' });
    await first.close();
    const warm = await serve(repository).call('index_code', { path: repository.checkout, wait: 'complete' });
    expect([warm.reused, warm.status, warm.basis.stage]).toEqual([4, 'success', 2]);
  },
);

verifies('C-060', 'C-061').test(
  'every use in code is returned with its kind, comments and strings on request',
  async () => {
    const { client } = await indexed();
    const code = await client.call('get_symbol_references', { name: 'roundPrice', require: 'complete' });
    expect(
      code.references.map(({ location, reference_type, confidence }) => [
        location.file,
        location.start_line,
        reference_type,
        confidence,
      ]),
    ).toEqual([
      ['src/cart.ts', 1, 'Import', 'exact'],
      ['src/cart.ts', 5, 'Call', 'exact'],
      ['src/price.ts', 2, 'Definition', 'exact'],
      ['src/other.py', 1, 'Import', 'likely'],
      ['src/other.py', 4, 'Call', 'likely'],
    ]);
    expect([code.total_count, code.basis.complete, code.basis.stage]).toEqual([5, true, 2]);
    const text = await client.call('get_symbol_references', { name: 'roundPrice', include_text: true });
    expect(places(text).filter((place) => !places(code).includes(place))).toEqual(['README.md:1', 'src/price.ts:1']);
  },
);

verifies('C-031', 'C-033').test('a symbol that is deleted, renamed or moved is gone at once', async () => {
  const { repository, client } = await indexed();
  repository.write('src/price.ts', 'export function roundMoney(value: number) { return value; }\n');
  const gone = await client.call('get_symbol', { name: 'roundPrice' });
  const there = await client.call('get_symbol', { name: 'roundMoney', require: 'complete' });
  rmSync(join(repository.checkout, 'src/price.ts'));
  const removed = await client.call('get_symbol', { name: 'roundMoney' });
  expect([gone.symbols, there.symbols.map(({ id }) => id), removed.symbols]).toEqual([
    [],
    ['src/price.ts#roundMoney:1'],
    [],
  ]);
  expect(places(await client.call('get_symbol_references', { name: 'roundMoney' }))).toEqual([]);
});

verifies('C-001', 'C-021', 'C-031').test('two worktrees share what is equal and never mix what is not', async () => {
  const { repository, client } = await indexed();
  const two = join(repository.root, 'two');
  repository.plain('worktree', 'add', '-q', '-b', 'two', two);
  writeFileSync(join(two, 'src/price.ts'), 'export const onlyInTwo = 1;\n');
  const other = serve(repository, two);
  const second = await other.call('index_code', { path: two, wait: 'complete' });
  expect([second.files_indexed, second.reused, second.basis.dirtyFiles]).toEqual([4, 3, 1]);
  const ask = async (name: string) =>
    Promise.all([client, other].map(async (each) => (await each.call('get_symbol', { name })).symbols.length));
  expect([await ask('onlyInTwo'), await ask('roundPrice'), await ask('Cart')]).toEqual([
    [0, 1],
    [1, 0],
    [1, 1],
  ]);
});

verifies('C-004', 'C-051').test('a path that leads out, or to nothing, is refused by its code', async () => {
  const { repository, client } = await indexed();
  symlinkSync('/etc', join(repository.checkout, 'out'));
  const codes = await Promise.all(
    ['../x', '/etc/passwd', 'out/passwd', '.git/config', 'src/prise.ts'].map(async (file_path) => {
      const refusal = await client.refusal('get_file_outline', { file_path });
      return [refusal?.code, refusal?.details?.nearest];
    }),
  );
  const outside = ['path_outside_worktree', undefined];
  expect(codes).toEqual([outside, outside, outside, outside, ['file_not_found', 'src/price.ts']]);
  expect(await client.refusal('find_symbols', { query: 'x', limit: 51 })).toMatchObject({
    code: 'bad_arguments',
    details: { fields: [{ field: 'limit', message: expect.any(String) }] },
  });
});

verifies('C-004').test('nested repositories and worktrees are not part of the answer', async () => {
  const repository = makeRepository(SHOP);
  repository.plain('worktree', 'add', '-q', '-b', 'inner', join(repository.checkout, 'inner'));
  repository.plain('init', '-q', 'nested');
  repository.write('nested/roundPrice.ts', 'export const roundPrice = 1;\n');
  const client = serve(repository);
  const found = await client.call('get_symbol_references', { name: 'roundPrice', require: 'complete' });
  expect(new Set(found.references.map(({ location }) => location.file.split('/')[0]))).toEqual(new Set(['src']));
});

verifies('C-051').test(
  'no symbols is an empty outline, an unknown name an empty list, and both are proof',
  async () => {
    const { client } = await indexed({ ...SHOP, 'src/empty.ts': '// nothing\n' });
    const outline = await client.call('get_file_outline', { file_path: 'src/empty.ts' });
    const unknown = await client.call('get_symbol', { name: 'noSuchName' });
    expect([outline.symbols, outline.basis.complete, unknown.symbols, unknown.basis.complete]).toEqual([
      [],
      true,
      [],
      true,
    ]);
  },
);

test('an outline knows methods, their container and what is bound to a name', async () => {
  const { client } = await indexed();
  const { symbols, language } = await client.call('get_file_outline', { file_path: 'src/cart.ts' });
  expect(language).toBe('typescript');
  expect(symbols.map(({ name, symbol_type, line, container }) => [name, symbol_type, line, container])).toEqual([
    ['Cart', 'class', 3, undefined],
    ['total', 'method', 4, 'Cart'],
    ['emptyCart', 'function', 9, undefined],
  ]);
});

verifies('C-052').test('a long answer comes in pages that fit together, until a file behind it changes', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [
      `src/f${at}.ts`,
      `${'shared();\n'.repeat(20)}export const f${at} = ${at};\n`,
    ]),
  );
  const { repository, client } = await indexed(many);
  const seen: string[] = [];
  let page = await client.call('get_symbol_references', { name: 'shared', limit: 250, require: 'complete' });
  for (;;) {
    seen.push(...places(page));
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(40_000);
    if (page.next_cursor === undefined) break;
    page = await client.call('get_symbol_references', { name: 'shared', limit: 250, cursor: page.next_cursor });
  }
  expect([seen.length, new Set(seen).size]).toEqual([600, 600]);
  const first = await client.call('get_symbol_references', { name: 'shared', limit: 10 });
  repository.write('src/f3.ts', 'shared();\n');
  const refusal = await client.refusal('get_symbol_references', { name: 'shared', cursor: first.next_cursor });
  expect(refusal?.code).toBe('cursor_expired');
});

verifies('C-063').test('search ranks by rare words and parts of names, a phrase must occur literally', async () => {
  const { client } = await indexed();
  const parts = await client.call('code_search', { query: 'round price', glob: 'src/**' });
  expect(parts.results[0]).toMatchObject({ file_path: 'src/price.ts', line: 2, language: 'typescript' });
  const phrase = await client.call('code_search', { query: '"keeps two digits"' });
  expect(phrase.results.map(({ file_path, line }) => [file_path, line])).toEqual([['src/price.ts', 1]]);
  expect([parts.basis.stage, parts.basis.complete]).toEqual([2, true]);
  const globbed = await client.call('code_search', { query: 'round price', glob: '*.py' });
  expect(globbed.results.map(({ file_path }) => file_path)).toEqual(['src/other.py']);
});

verifies('C-063').test('what stands only at the end of a large file is found, and its line', async () => {
  const filler = 'const filler = 1;\n'.repeat(10_000);
  const { client } = await indexed({
    'src/long.ts': `${filler}function settleInvoice() {}\n`,
    'src/short.ts': 'settleInvoice();\n',
  });
  for (const query of ['settle invoice', '"settleInvoice()"']) {
    const { results } = await client.call('code_search', { query, require: 'complete' });
    expect(results.map(({ file_path, line }) => [file_path, line])).toEqual([
      ['src/short.ts', 1],
      ['src/long.ts', 10_001],
    ]);
  }
});

verifies('C-067').test(
  'hops follow imports and names in code both ways; a name in a comment, a string, prose or another language reaches nothing',
  async () => {
    const { client } = await indexed({
      ...SHOP,
      'src/comment.ts': '// roundPrice is not used here\nexport const said = "roundPrice";\n',
      'src/local.ts': 'export function own(roundPrice: number) { return roundPrice + 1; }\n',
      'pkg/a.go': 'package pkg\n\nfunc Shared() int { return 1 }\n',
      'pkg/b.go': 'package pkg\n\nfunc Use() int { return Shared() }\n',
      'other/a.go': 'package other\n\nfunc Shared() int { return 2 }\n',
    });
    const reached = async (file: string) =>
      (await client.call('get_hops', { files: [file], depth: 1, require: 'complete' })).files;
    expect(await reached('src/price.ts')).toEqual([
      { file_path: 'src/price.ts', distance: 0, via: 'start' },
      { file_path: 'src/cart.ts', distance: 1, via: 'imported_by' },
    ]);
    expect(await reached('pkg/b.go')).toEqual([
      { file_path: 'pkg/b.go', distance: 0, via: 'start' },
      { file_path: 'pkg/a.go', distance: 1, via: 'reference' },
    ]);
  },
);

verifies('C-065').test('explore gives pieces within its budget, and the same bytes for the same question', async () => {
  const { client } = await indexed();
  const ask = () =>
    client.call('explore_code', { question: 'where are prices rounded by roundPrice?', budget_tokens: 500 });
  const [one, two] = [await ask(), await ask()];
  expect(one.tokens).toBeLessThanOrEqual(500);
  expect(one.slices[0]).toMatchObject({ file_path: 'src/price.ts', start_line: 2, end_line: 4 });
  expect({ ...two, basis: undefined }).toEqual({ ...one, basis: undefined });
});

test('a server ends with its input', async () => {
  const { client } = await indexed();
  expect(await client.close()).toBe(0);
});
