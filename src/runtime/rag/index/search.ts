import { stem, tellingWords } from '../text/words.ts';
import type { Embedder } from './embedder.ts';
import type { IndexReader } from './reader.ts';

export interface Retrieval {
  index: IndexReader;
  /** Undefined: by words alone. */
  embedder: Embedder | undefined;
  /** An embedder that fails costs its half of the answer, never the answer. */
  onEmbedderFailure(error: unknown): void;
}

export interface Query {
  /** Phrasings of one question. */
  questions: readonly string[];
  topK: number;
  signal?: AbortSignal | undefined;
}

/** Chunks by words and by vectors, each `topK` per phrasing, fused by rank. May be more than `topK`. */
export async function retrieve(retrieval: Retrieval, query: Query): Promise<{ id: number; score: number }[]> {
  const rankings: Ranking[] = [];
  for (const question of query.questions) {
    rankings.push(wordRanking(retrieval, question, query));
    const nearest = await vectorRanking(retrieval, question, query);
    if (nearest) rankings.push(nearest);
  }
  return fuse(rankings, 2 * query.topK);
}

export function wordRanking({ index }: Retrieval, question: string, { topK }: Query): Ranking {
  const words = tellingWords(question).flatMap((word) => index.respell(word));
  return { ids: index.matching(words.map(stem), topK), weight: 1 };
}

export async function vectorRanking(
  { index, embedder, onEmbedderFailure }: Retrieval,
  question: string,
  { topK, signal }: Query,
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

/** Reciprocal rank fusion: what stands high in any list stands high, what stands high in several stands higher. */
export function fuse(rankings: readonly Ranking[], k: number): { id: number; score: number }[] {
  const scores = new Map<number, number>();
  for (const { ids, weight } of rankings) {
    for (const [rank, id] of ids.entries()) scores.set(id, (scores.get(id) ?? 0) + weight / (k + rank + 1));
  }
  return [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || a.id - b.id);
}
