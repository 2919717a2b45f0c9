import { join } from 'node:path';
import { buildIndex } from '../../src/runtime/rag/index/build.ts';
import { createEmbedder, HASH_MODEL } from '../../src/runtime/rag/index/embedder.ts';
import { IndexReader } from '../../src/runtime/rag/index/reader.ts';
import { type Retrieval, retrieve, vectorRanking, wordRanking } from '../../src/runtime/rag/index/search.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { printRows, type Row } from '../measure.ts';
import { Bm25Peer, plainTerms, stemmedTerms } from './bm25-peer.ts';
import { fail, noModels, textDocument } from './evaluation.ts';
import { type Fold, foldsOf, type HeadingQuestion } from './heading-questions.ts';

const TOP = 10;
const TRAITS = { chunk_size: 2000, chunk_overlap: 100, wanted_embedder: HASH_MODEL };
const METHODS = ['plain BM25', 'BM25', 'vectors', 'words', 'hybrid'] as const;

/** Documentation that our own dependencies bring. Phrases were chosen on the first; the others show whether that holds. */
const SETS: readonly { name: string; folders: readonly string[]; least?: number }[] = [
  { name: 'undici (tuned on)', folders: ['undici/docs'] },
  { name: 'pino', folders: ['pino/docs'], least: 1 },
  { name: 'ai', folders: ['ai/docs'], least: 1.1 },
  {
    name: '@ai-sdk',
    folders: ['openai', 'anthropic', 'google', 'gateway', 'openai-compatible'].map((name) => `@ai-sdk/${name}/docs`),
    least: 1.1,
  },
];

type Ranks = Record<(typeof METHODS)[number], number>;

/** Headings are the questions, and the chunk under each the answer. `BM25` has stems and split identifiers. */
export async function benchHeadings(): Promise<boolean> {
  using folder = disposableFolder();
  console.log(`\nHeadings of documentation as questions, mean reciprocal rank at ${TOP}`);
  const rows: Row[] = [];
  for (const [n, { name, folders, least }] of SETS.entries()) {
    const all: Ranks[] = [];
    let chunks = 0;
    for (const [part, fold] of foldsOf(folders).entries()) {
      const asked = await ask(join(folder.path, `${n}-${part}.sqlite`), fold);
      all.push(...asked.ranks);
      chunks = asked.chunks;
    }
    const mean = (method: (typeof METHODS)[number]) => all.reduce((sum, ranks) => sum + ranks[method], 0) / all.length;
    const figures = METHODS.map((method) => `${method} ${mean(method).toFixed(3)}`);
    console.log(`  ${name.padEnd(18)} ${chunks} chunks, ${all.length} questions   ${figures.join('   ')}`);
    const row = { what: `${name}: words · BM25`, ours: 100 * mean('words'), theirs: 100 * mean('BM25'), unit: '%' };
    rows.push({ ...row, ...(least !== undefined && { target: { least } }) });
  }
  return printRows(`  mean reciprocal rank at ${TOP}`, rows);
}

async function ask(path: string, { documents, questions }: Fold): Promise<{ chunks: number; ranks: Ranks[] }> {
  const embedder = createEmbedder(HASH_MODEL, noModels);
  const texts = async function* () {
    for (const { source, text } of documents) yield textDocument(source, text);
  };
  await buildIndex({ path, traits: TRAITS, embedder, documents: texts(), warn: fail });
  const index = new IndexReader(path);
  const plain = new Bm25Peer(`${path}.plain`, index, plainTerms);
  const stemmed = new Bm25Peer(`${path}.stemmed`, index, stemmedTerms);
  try {
    const retrieval: Retrieval = { index, embedder, onEmbedderFailure: fail };
    const ranks: Ranks[] = [];
    for (const question of questions) {
      const query = { question: question.ask, topK: TOP };
      const rank = (ids: readonly number[]) => rankOf(index, question, ids);
      ranks.push({
        'plain BM25': rank(plain.ids(question.ask, TOP)),
        BM25: rank(stemmed.ids(question.ask, TOP)),
        vectors: rank((await vectorRanking(retrieval, query))?.ids ?? []),
        words: rank(wordRanking(retrieval, query).ids),
        hybrid: rank((await retrieve(retrieval, query)).map(({ id }) => id)),
      });
    }
    return { chunks: index.chunks, ranks };
  } finally {
    plain.close();
    stemmed.close();
    index.close();
  }
}

/** The reciprocal of the place, 0 if the answer is not among the first. */
function rankOf(index: IndexReader, { source, text }: HeadingQuestion, ids: readonly number[]): number {
  const isAnswer = (id: number) => {
    const chunk = index.chunk(id);
    return chunk?.source === source && chunk.text.includes(text);
  };
  const at = ids.slice(0, TOP).findIndex(isAnswer);
  return at < 0 ? 0 : 1 / (at + 1);
}
