import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildIndex } from '../../src/runtime/rag/index/build.ts';
import { createEmbedder, HASH_MODEL } from '../../src/runtime/rag/index/embedder.ts';
import { IndexReader } from '../../src/runtime/rag/index/reader.ts';
import { type Retrieval, retrieve, vectorRanking, wordRanking } from '../../src/runtime/rag/index/search.ts';
import type { SourceDocument } from '../../src/runtime/rag/load/load-text.ts';
import { Bm25Peer, stemmedTerms } from './bm25-peer.ts';

const FOLDER = join(import.meta.dirname, 'evaluation');
const TRAITS = { chunk_size: 2000, chunk_overlap: 100, wanted_embedder: HASH_MODEL };
const TOP = 5;

const questionFile = z.record(z.string(), z.array(z.tuple([z.string(), z.string()])));

interface Question {
  kind: string;
  ask: string;
  section: string;
}

/** Recall at 5, and mean reciprocal rank of what is found there. */
export interface Quality {
  recall: number;
  rank: number;
}

/** `BM25` is what the others are measured against: stems and split identifiers, and nothing else. */
export const METHODS = ['BM25', 'words', 'vectors', 'hybrid'] as const;
export type Method = (typeof METHODS)[number];

export function readQuestions(): Question[] {
  const file = questionFile.parse(parse(readFileSync(join(FOLDER, 'questions.yaml'), 'utf8')));
  return Object.entries(file).flatMap(([kind, list]) => list.map(([ask, section]) => ({ kind, ask, section })));
}

/** One document a section; the noise is what the sections have to be told from. */
export async function* handbook(noise: AsyncIterable<SourceDocument> | Iterable<SourceDocument> = []) {
  const sections = readFileSync(join(FOLDER, 'handbook.md'), 'utf8').split(/^(?=## )/m);
  for (const [index, section] of sections.entries()) yield textDocument(`/handbook/${index}.md`, section);
  yield* noise;
}

export function textDocument(source: string, text: string): SourceDocument {
  return { source, loadedBy: 'text', content: async () => Buffer.from(text), text: async () => text };
}

/** Asks all questions in all three ways of one index. */
export async function evaluate(path: string, noise?: AsyncIterable<SourceDocument>): Promise<Evaluation> {
  const embedder = createEmbedder(HASH_MODEL, noModels);
  await buildIndex({ path, traits: TRAITS, embedder, documents: handbook(noise), warn: fail });
  const index = new IndexReader(path);
  const peer = new Bm25Peer(`${path}.stemmed`, index, stemmedTerms);
  try {
    const retrieval: Retrieval = { index, embedder, onEmbedderFailure: fail };
    const query = (question: string) => ({ question, topK: TOP });
    const ask: Record<Method, (question: string) => Promise<readonly number[]>> = {
      BM25: async (question) => peer.ids(question, TOP),
      words: async (question) => wordRanking(retrieval, query(question)).ids,
      vectors: async (question) => (await vectorRanking(retrieval, query(question)))?.ids ?? [],
      hybrid: async (question) => (await retrieve(retrieval, query(question))).map(({ id }) => id),
    };
    return new Evaluation(index.chunks, await positions(index, ask));
  } finally {
    peer.close();
    index.close();
  }
}

type Position = Question & { method: Method; at: number };

async function positions(
  index: IndexReader,
  ask: Record<Method, (question: string) => Promise<readonly number[]>>,
): Promise<Position[]> {
  const found: Position[] = [];
  for (const question of readQuestions()) {
    for (const method of METHODS) {
      const ids = (await ask[method](question.ask)).slice(0, TOP);
      const at = ids.findIndex((id) => index.chunk(id)?.text.startsWith(`## ${question.section}\n`));
      found.push({ ...question, method, at: at < 0 ? Number.POSITIVE_INFINITY : at + 1 });
    }
  }
  return found;
}

export class Evaluation {
  readonly chunks: number;
  readonly #positions: readonly Position[];

  constructor(chunks: number, found: readonly Position[]) {
    this.chunks = chunks;
    this.#positions = found;
  }

  get kinds(): string[] {
    return [...new Set(this.#positions.map(({ kind }) => kind))];
  }

  /** Of one kind of question, or of all. */
  quality(method: Method, kind?: string): Quality {
    const asked = this.#positions.filter((each) => each.method === method && (kind ?? each.kind) === each.kind);
    const mean = (value: (each: Position) => number) =>
      asked.reduce((sum, each) => sum + value(each), 0) / asked.length;
    return { recall: mean(({ at }) => (Number.isFinite(at) ? 1 : 0)), rank: mean(({ at }) => 1 / at) };
  }
}

const unused = () => Promise.reject(new Error('the evaluation uses no model'));
export const noModels = { embed: unused, rerank: unused };

export function fail(what: unknown): never {
  throw what instanceof Error ? what : new Error(String(what));
}
