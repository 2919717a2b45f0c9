import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, named, ragWorld, type World } from '../../../test/support/runtime/rag.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { RagModels } from './index/embedder.ts';

async function ask(world: World, question: string, more: { top_k?: number; reranker_model?: string } = {}) {
  const lease = await world.cache.load(named('docs'));
  try {
    return (await lease?.value.search(question, { top_k: 3, ...more })) ?? [];
  } finally {
    await lease?.release();
  }
}

const sourcesOf = (hits: { source: string }[]) => hits.map(({ source }) => source.slice(source.lastIndexOf('/') + 1));

verifies('R-45').test('a rebuild loads and embeds only what changed, and forgets what is gone', async () => {
  const embedded: string[] = [];
  const models = {
    embed: async (_: string, texts: readonly string[]) => {
      embedded.push(...texts);
      return texts.map((text) => [text.length, 1]);
    },
    rerank: () => Promise.reject(new Error('unused')),
    chunkSizeOf: () => undefined,
  };
  const world = ragWorld({ models, config: { rag_embedding_model: 'fake:e' } });
  for (const name of ['a', 'b', 'c', 'd']) world.write(`docs/${name}.md`, `the text of ${name}`);
  const made = await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const atFirst = embedded.splice(0);
  world.write('docs/b.md', 'another text of b');
  world.write('docs/e.md', 'the text of e');
  world.remove('docs/c.md');
  const again = await world.library.rebuild(named('docs'));
  const idle = await world.library.rebuild(named('docs'));
  const since = [...embedded];
  expect({
    made,
    atFirst: atFirst.length,
    again,
    since,
    idle,
    found: sourcesOf(await ask(world, 'another c')),
  }).toEqual({
    made: { added: 4, unchanged: 0, removed: 0, failed: [] },
    atFirst: 4,
    again: { added: 2, unchanged: 2, removed: 1, failed: [] },
    since: ['another text of b', 'the text of e'],
    idle: { added: 0, unchanged: 4, removed: 0, failed: [] },
    found: expect.not.arrayContaining(['c.md']),
  });
});

verifies('R-46').test(
  'chunks are as large as the embedding model likes, else 2000, and overlap by a twentieth; what is configured wins',
  async () => {
    const sizes = async (chunkSize: number | undefined, config: Parameters<typeof ragWorld>[0]) => {
      const embedded: string[] = [];
      const embed = async (_: string, texts: readonly string[]) => {
        embedded.push(...texts);
        return texts.map((text) => [text.length, 1]);
      };
      const rerank = () => Promise.reject(new Error('unused'));
      const models = { embed, rerank, chunkSizeOf: () => chunkSize };
      const world = ragWorld({ models, ...config, config: { rag_embedding_model: 'fake:e', ...config?.config } });
      world.write('docs/a.txt', Array.from({ length: 2_000 }, (_, n) => `w${n}`).join(' '));
      await world.library.rebuild(named('docs'), { documents: ['docs'] });
      const [first = '', second = ''] = embedded;
      const shared = Array.from({ length: second.length }, (_, n) => n).findLast((n) =>
        first.endsWith(second.slice(0, n)),
      );
      return { size: first.length, shared };
    };
    // Chunks end at a word, and no word here is longer than six characters.
    const upTo = (size: number) => expect.toSatisfy((length: number) => length <= size && length > size - 7);
    const near = (size: number) => ({ size: upTo(size), shared: upTo(size / 20) });
    expect([
      await sizes(800, {}),
      await sizes(undefined, {}),
      await sizes(800, { config: { rag_chunk_size: 400 } }),
      await sizes(800, { config: { rag_chunk_overlap: 0 } }),
    ]).toEqual([near(800), near(2_000), near(400), { size: upTo(800), shared: 0 }]);
  },
);

verifies('R-155', 'R-45').test('after one of a thousand files changed, only its chunk is embedded', async () => {
  let embedded = 0;
  const embed = async (_: string, texts: readonly string[]) => {
    embedded += texts.length;
    return texts.map((text) => [text.length, 1]);
  };
  const models = { embed, rerank: () => Promise.reject(new Error('unused')), chunkSizeOf: () => undefined };
  const world = ragWorld({ models, config: { rag_embedding_model: 'fake:e' } });
  for (let n = 0; n < 1000; n += 1) world.write(`docs/${n}.md`, `the text of file ${n}`);
  const first = await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const atFirst = embedded;
  world.write('docs/500.md', 'other words');
  const again = await world.library.rebuild(named('docs'));
  expect({
    added: [first.added, again.added],
    unchanged: again.unchanged,
    embedded: [atFirst, embedded - atFirst],
  }).toEqual({ added: [1000, 1], unchanged: 999, embedded: [1000, 1] });
});

verifies('R-45').test('an index changed step by step answers as one made at once', async () => {
  const stepwise = ragWorld();
  const atOnce = ragWorld();
  const final = { 'a.md': 'alpha beta gamma', 'b.md': 'beta delta', 'c.md': 'gamma delta epsilon alpha' };
  stepwise.write('docs/a.md', 'zeta eta');
  stepwise.write('docs/gone.md', 'alpha alpha alpha delta');
  await stepwise.library.rebuild(named('docs'), { documents: ['docs'] });
  stepwise.remove('docs/gone.md');
  for (const world of [stepwise, atOnce]) {
    for (const [name, text] of Object.entries(final)) world.write(`docs/${name}`, text);
    await world.library.rebuild(named('docs'), { documents: ['docs'] });
  }
  const answers = async (world: World) => {
    const list = [];
    for (const question of ['alpha', 'delta', 'betta', 'zeta']) list.push(sourcesOf(await ask(world, question)));
    return list;
  };
  expect(await answers(stepwise)).toEqual(await answers(atOnce));
});

verifies('R-45').test('a document that fails is listed and the rest is searchable; it is tried again', async () => {
  const world = ragWorld();
  world.write('docs/good.md', 'pelicans fish');
  world.write('docs/picture.bin', new Uint8Array([1, 0, 2]));
  const report = await world.library.rebuild(named('docs'), { documents: ['docs', 'missing.md'] });
  const lease = await world.cache.load(named('docs'));
  const listed = lease?.value.info().failed.map(({ source }) => source.slice(world.root.length));
  const found = sourcesOf(await ask(world, 'pelicans'));
  world.write('docs/picture.bin', 'now words');
  const mended = await world.library.rebuild(named('docs'));
  expect({ failed: report.failed.length, listed, found, mended }).toEqual({
    failed: 2,
    listed: ['/docs/picture.bin', '/missing.md'],
    found: ['good.md'],
    mended: {
      added: 1,
      unchanged: 1,
      removed: 0,
      failed: [expect.objectContaining({ reason: expect.stringContaining('No such file') })],
    },
  });
});

verifies('R-44').test(
  'an embedder that fails costs a warning, when building and when asking, and never the answer',
  async () => {
    let isDown = true;
    const models = {
      embed: async (_: string, texts: readonly string[]) => {
        if (isDown) throw new Error('no route to host');
        return texts.map(() => [1, 0, 0]);
      },
      rerank: () => Promise.reject(new Error('unused')),
      chunkSizeOf: () => undefined,
    };
    const world = ragWorld({ models, config: { rag_embedding_model: 'fake:e' } });
    world.write('docs/a.md', 'pelicans fish');
    await world.library.rebuild(named('docs'), { documents: ['docs'] });
    const whileDown = sourcesOf(await ask(world, 'pelicans'));
    const lease = await world.cache.load(named('docs'));
    const said = lease?.value.info().retrieval;
    await lease?.release();
    isDown = false;
    await world.library.rebuild(named('docs'));
    isDown = true;
    const later = sourcesOf(await ask(world, 'pelicans'));
    expect({ whileDown, said, later, warnings: world.warnings }).toEqual({
      whileDown: ['a.md'],
      said: expect.stringMatching(/by words .*finds no synonyms, because fake:e failed/),
      later: ['a.md'],
      warnings: [
        'fake:e does not embed, so search is by words only: no route to host',
        'fake:e failed, so this search was by words only: no route to host',
      ],
    });
  },
);

verifies('R-44').test(
  'offline, a question finds other forms of its words, parts of identifiers, and what it misspells',
  async () => {
    const world = ragWorld();
    world.write('docs/keys.md', 'Signing keys are rotated every ninety days.');
    world.write('docs/code.ts', 'export function parseUserConfig(path: string) {}');
    world.write('docs/other.md', 'Nothing of interest stands here.');
    await world.library.rebuild(named('docs'), { documents: ['docs'] });
    const best = async (question: string) => sourcesOf(await ask(world, question))[0];
    const lease = await world.cache.load(named('docs'));
    expect({
      forms: await best('rotation of a key'),
      identifier: await best('user_config'),
      misspelt: await best('how are kyes rotatd?'),
      nothing: await ask(world, 'zzzz'),
      model: lease?.value.info().embedding_model,
    }).toEqual({ forms: 'keys.md', identifier: 'code.ts', misspelt: 'keys.md', nothing: [], model: null });
  },
);

verifies('R-43').test('words and vectors are fused, and a reranker has the last word', async () => {
  const meaning: Record<string, number[]> = { sea: [1, 0], whale: [0.9, 0.1], car: [0, 1] };
  const vectorOf = (text: string) => Object.entries(meaning).find(([word]) => text.includes(word))?.[1] ?? [0.5, 0.5];
  const reranked: unknown[] = [];
  const models: RagModels & { chunkSizeOf(): undefined } = {
    embed: async (_, texts) => texts.map(vectorOf),
    rerank: async (model, request) => {
      reranked.push([model, request.query, request.documents.length]);
      return [{ index: request.documents.length - 1, score: 0.9 }];
    },
    chunkSizeOf: () => undefined,
  };
  const world = ragWorld({ models, config: { rag_embedding_model: 'fake:e' } });
  world.write('docs/1.md', 'the whale sings');
  world.write('docs/2.md', 'the car honks');
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const synonym = sourcesOf(await ask(world, 'sea animals', { top_k: 1 }));
  const both = sourcesOf(await ask(world, 'honking car'));
  const last = await ask(world, 'whale', { reranker_model: 'fake:r' });
  expect({ synonym, both, last: last.map(({ text, score }) => [text, score]), reranked }).toEqual({
    synonym: ['1.md'],
    both: ['2.md', '1.md'],
    last: [['the car honks', 0.9]],
    reranked: [['fake:r', 'whale', 2]],
  });
});

verifies('R-43').test('a reranker that fails leaves the order of the search', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'pelicans fish');
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const hits = await ask(world, 'pelicans', { reranker_model: 'fake:r' });
  expect({ hits: sourcesOf(hits), warnings: world.warnings }).toEqual({
    hits: ['a.md'],
    warnings: ['fake:r failed, so the order is that of the search: there is no model here'],
  });
});

verifies('R-43').test('a definition keeps its own words, and other settings make another index', async () => {
  const world = ragWorld();
  world.write('docs/a.md', `${'first words. '.repeat(20)}\n\n${'second words. '.repeat(20)}`);
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  world.write(
    'rags/docs.yaml',
    `# mine\nchunk_size: 300\ntop_k: 7\ndocument_paths: [${join(world.root, 'docs')}]\nnext_file_id: 3\n`,
  );
  const lease = await world.cache.load(named('docs'));
  await world.library.rebuild(named('docs'), { documents: ['docs/a.md'] });
  expect({
    info: lease?.value.info(),
    file: readFileSync(join(world.root, 'rags/docs.yaml'), 'utf8'),
    left: readdirSync(join(world.root, 'rags')),
  }).toEqual({
    info: expect.objectContaining({
      files: 1,
      chunks: 2,
      chunk_size: 300,
      chunk_overlap: 15,
      top_k: 7,
      reranker_model: null,
    }),
    file: expect.stringMatching(
      /^# mine\nchunk_size: 300\ntop_k: 7\ndocument_paths:\n {2}- .*docs\/a\.md\nnext_file_id: 3\n$/,
    ),
    left: ['docs.sqlite', 'docs.yaml'],
  });
});

test('a build that is aborted leaves index, definition and folder as they were', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'pelicans fish');
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const before = readFileSync(join(world.root, 'rags/docs.sqlite'));
  for (let n = 0; n < 5; n += 1) world.write(`more/${n}.md`, 'text');
  const failure = await world.library
    .rebuild(named('docs'), { documents: ['more'], signal: AbortSignal.abort('stop') })
    .catch((error) => error);
  expect({
    failure,
    same: before.equals(readFileSync(join(world.root, 'rags/docs.sqlite'))),
    left: readdirSync(join(world.root, 'rags')),
    found: sourcesOf(await ask(world, 'pelicans')),
  }).toEqual({ failure: 'stop', same: true, left: ['docs.sqlite', 'docs.yaml'], found: ['a.md'] });
});

verifies('R-43').test('what Loki has embedded is taken over once, and nothing is embedded again', async () => {
  const asked: string[][] = [];
  const models = {
    embed: async (_: string, texts: readonly string[]) => {
      asked.push([...texts]);
      return texts.map((text) => (text.includes('ocean') ? [0, 1] : [1, 0]));
    },
    rerank: () => Promise.reject(new Error('unused')),
    chunkSizeOf: () => undefined,
  };
  const world = ragWorld({ models });
  const floats = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString('base64');
  world.write(
    'rags/docs.yaml',
    JSON.stringify({
      embedding_model: 'openai:small',
      chunk_size: 1000,
      chunk_overlap: 50,
      document_paths: [],
      files: {
        0: { hash: 'x', path: '/old/a.md', documents: [{ page_content: 'cars honk', metadata: {} }] },
        1: {
          hash: 'y',
          path: '/old/b.md',
          documents: [{ page_content: 'bread rises' }, { page_content: 'whales sing' }],
        },
      },
      vectors: { 0: floats(1, 0), [2 ** 32]: floats(1, 0), [2 ** 32 + 1]: floats(0, 2) },
    }),
  );
  const hits = await ask(world, 'the ocean', { top_k: 1 });
  await ask(world, 'cars');
  expect({ hits, asked }).toEqual({
    hits: [{ text: 'whales sing', source: '/old/b.md', chunk: 2, score: expect.any(Number) }],
    asked: [['the ocean'], ['cars']],
  });
});

test('a damaged index is made again', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'pelicans fish');
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  world.write('rags/docs.sqlite', 'no database at all');
  expect(sourcesOf(await ask(world, 'pelicans'))).toEqual(['a.md']);
});

test('a RAG that was never made cannot be rebuilt', async () => {
  const world = ragWorld();
  expect(await world.library.rebuild(agent('nobody')).catch((error) => error.code)).toBe('rag_not_found');
});
