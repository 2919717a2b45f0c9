import type { IndexReader } from '../stored/reader.ts';
import { stem } from '../text/stem.ts';
import { tellingWords } from '../text/words.ts';
import type { Embedder } from './embedder.ts';
import { fuse, type Ranking } from './fuse.ts';

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
