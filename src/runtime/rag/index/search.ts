import { stem, tellingWords } from '../text/words.ts';
import type { Embedder } from './embedder.ts';
import type { IndexReader } from './reader.ts';

export interface Retrieval {
  index: IndexReader;
  /** Undefined to search by words alone. */
  embedder: Embedder | undefined;
  /** Without the embedder, the search is by words alone. */
  onEmbedderFailure(error: unknown): void;
}

export interface Query {
  question: string;
  topK: number;
  signal?: AbortSignal | undefined;
}

/** Finds `topK` chunks by words and `topK` by vectors, and fuses them by rank. */
export async function retrieve(retrieval: Retrieval, query: Query): Promise<{ id: number; score: number }[]> {
  const words = wordRanking(retrieval, query);
  const vectors = await vectorRanking(retrieval, query);
  return fuse(vectors ? [words, vectors] : [words], 2 * query.topK);
}

export function wordRanking({ index }: Retrieval, { question, topK }: Query): Ranking {
  const terms = tellingWords(question).map((word) => index.respell(word).map(stem));
  const phrases = terms.flatMap(([right], at) => {
    const [left] = terms[at - 1] ?? [];
    return left && right ? [`${left} ${right}`] : [];
  });
  return { ids: index.matching({ terms: terms.flat(), phrases }, topK), weight: 1 };
}

export async function vectorRanking(
  { index, embedder, onEmbedderFailure }: Retrieval,
  { question, topK, signal }: Query,
): Promise<Ranking | undefined> {
  if (!embedder) return undefined;
  try {
    const vector = await embedder.query(question, index, signal);
    return { ids: index.nearest(vector, topK), weight: embedder.weight };
  } catch (error) {
    signal?.throwIfAborted();
    onEmbedderFailure(error);
    return undefined;
  }
}

export interface Ranking {
  /** Ids, best first. */
  ids: readonly number[];
  weight: number;
}

/** Reciprocal rank fusion: an id that ranks high in several lists comes first. */
export function fuse(rankings: readonly Ranking[], k: number): { id: number; score: number }[] {
  const scores = new Map<number, number>();
  for (const { ids, weight } of rankings) {
    for (const [rank, id] of ids.entries()) scores.set(id, (scores.get(id) ?? 0) + weight / (k + rank + 1));
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id);
}
