import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { type Asking, allEdges, checkWhole, edgeCorpora, pathsOf } from '../../../bench/context-correctness/edges.ts';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { CodeToolArgs } from '../../protocol/code.ts';

const corpora = edgeCorpora();

function serve(files: Record<string, string>) {
  const repository = makeRepository(files);
  const client = new ServerClient({ worktree: repository.checkout, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => void (await client.close()));
  return { repository, client };
}

function serveCorpus(language: string) {
  return serve(corpora.find(({ name }) => name === language)?.files ?? {});
}

type RelationTool = 'get_callers' | 'get_callees' | 'get_impact' | 'get_tests';

async function named(client: ServerClient, tool: RelationTool, args: CodeToolArgs<'get_impact'>) {
  const { related } = await client.call(tool, { ...args, require: 'complete' });
  return related.map(({ file_path, name, distance }) => `${distance} ${file_path} ${name}`);
}

describe('against labels by hand', () => {
  for (const corpus of corpora) {
    verifies('C-143').test(`${corpus.name}: no invented edge, and few that are missed`, async () => {
      const { client } = serve(corpus.files);
      const { wrong, recall } = checkWhole(corpus, await allEdges(client as unknown as Asking, pathsOf(corpus)));
      expect(wrong).toEqual([]);
      expect(recall).toBeGreaterThan(0.85);
    });
  }
});

verifies('C-143').test('names of the language and names of another language lead nowhere', async () => {
  const { client } = serveCorpus('python');
  const own = await named(client, 'get_callers', { name: 'ceil', file_path: 'shop/functions/math.py' });
  expect(own).toEqual(['1 shop/cart.py total', '1 shop/functions/math.py floor']);
  expect(await named(client, 'get_callers', { name: 'paginate' })).toEqual(['1 shop/static/jquery.js page_count']);
  const { files } = await client.call('get_hops', { files: ['shop/paginator.py'], depth: 1, require: 'complete' });
  const reached = files === 'unknown' ? [] : files.map(({ file_path }) => file_path);
  expect(reached).toContain('shop/functions/math.py');
  expect(reached).not.toContain('shop/static/jquery.js');
});

verifies('C-143').test('a module of the language itself is no file that has its name', async () => {
  const { client } = serve({
    'functions/math.py': 'def ceil(value):\n    return value\n',
    'app.py': 'from math import ceil\n\n\ndef round_up(value):\n    return ceil(value)\n',
  });
  expect(await named(client, 'get_callers', { name: 'ceil' })).toEqual([]);
  const { files } = await client.call('get_hops', { files: ['app.py'], depth: 2, require: 'complete' });
  expect(files).toEqual([{ file_path: 'app.py', distance: 0, via: 'start' }]);
});

verifies('C-143').test('impact goes on by distance, and tests are told by their titles', async () => {
  const { client } = serveCorpus('typescript');
  expect(await named(client, 'get_impact', { name: 'round', file_path: 'src/tax/round.ts' })).toEqual([
    '1 src/cart.ts #gross',
    '1 src/tax/round.ts floor',
    '2 src/cart.ts total',
    '2 src/cart.ts summary',
    '3 src/cart.ts receipt',
    '3 src/cart.ts sumOf',
    '3 test/cart.test.ts no carts, no sums',
  ]);
  expect(await named(client, 'get_tests', { name: 'round', file_path: 'src/tax/round.ts' })).toEqual([
    '3 test/cart.test.ts no carts, no sums',
    '5 test/cart.test.ts a receipt names the total',
  ]);
  expect(await named(client, 'get_callees', { name: 'Cart.total' })).toEqual([
    '1 src/cart.ts total',
    '1 src/cart.ts #gross',
  ]);
});

verifies('C-143', 'C-140', 'C-145').test(
  'names as people write them, pages, and one of several definitions',
  async () => {
    const { client } = serveCorpus('typescript');
    const all = await client.call('get_callers', { name: 'Cart.total', require: 'complete' });
    const first = await client.call('get_callers', { name: 'Cart.total', limit: 1, require: 'complete' });
    const cursor = first.next_cursor ?? '';
    const second = await client.call('get_callers', { name: 'Cart.total', limit: 1, cursor });
    expect([...first.related, ...second.related]).toEqual(all.related);
    const both = await client.call('get_callers', { name: 'receipt', require: 'complete' });
    expect(both.note).toContain('src/cart.ts:42, src/other.ts:12');
    const one = await client.call('get_callers', { name: 'receipt', file_path: 'src/other.ts', require: 'complete' });
    expect(one.related.map(({ name }) => name)).toEqual(['rateOf']);
    const none = await client.call('get_callers', { name: 'nobodyCallsThis', require: 'complete' });
    expect({ ...none, basis: undefined }).toMatchObject({
      related: [],
      note: expect.stringContaining('Nothing here is called'),
    });
  },
);

verifies('C-143', 'C-144').test('an edit a moment ago is in the next answer', async () => {
  const { client, repository } = serveCorpus('go');
  expect(await named(client, 'get_callers', { name: 'keepAll' })).toEqual([]);
  writeFileSync(join(repository.checkout, 'cart/more.go'), 'package cart\n\nfunc more() {\n\tkeepAll(nil, nil)\n}\n');
  expect(await named(client, 'get_callers', { name: 'keepAll' })).toEqual(['1 cart/more.go more']);
});
