import { ReefError } from '../../../protocol/errors.ts';
import type { RagModels } from '../rag.ts';
import type { Collection } from './collection.ts';
import { HASH_MODEL, hashDocument, hashQuery } from './hash-embedder.ts';
import { normalised } from './vectors.ts';

export interface Embedder {
  /** Stored with an index: vectors of another embedder mean nothing here. */
  readonly id: string;
  /** Of its ranking, against 1 for the search by words. */
  readonly weight: number;
  documents(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  query(text: string, collection: Collection, signal?: AbortSignal): Promise<Float32Array>;
}

const MODEL_WEIGHT = 1.125;
/** Set by the evaluation set of `bench/runtime`: with more, one of the two searches alone is better than both. */
const HASH_WEIGHT = 1;

export function createEmbedder(id: string, models: RagModels): Embedder {
  if (id === HASH_MODEL) {
    return {
      id,
      weight: HASH_WEIGHT,
      documents: async (texts) => texts.map(hashDocument),
      query: async (text, collection) => hashQuery(text, collection),
    };
  }
  return {
    id,
    weight: MODEL_WEIGHT,
    async documents(texts, signal) {
      const vectors = await models.embed(id, texts, signal);
      if (vectors.length !== texts.length)
        throw new ReefError('provider_rejected', `${id} gave ${vectors.length} vectors for ${texts.length} texts`);
      return vectors.map((vector) => normalised(Float32Array.from(vector)));
    },
    async query(text, _, signal) {
      const [vector = []] = await models.embed(id, [text], signal);
      return normalised(Float32Array.from(vector));
    },
  };
}
