import { fnvOfText } from '../../../base/fnv.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { stem, tellingWords } from '../text/words.ts';
import type { Collection } from './reader.ts';
import { normalised } from './vectors.ts';

/** The models a RAG uses. */
export interface RagModels {
  embed(model: string, texts: readonly string[], signal?: AbortSignal): Promise<number[][]>;
  rerank(
    model: string,
    request: { query: string; documents: readonly string[]; topK: number },
    signal?: AbortSignal,
  ): Promise<{ index: number; score: number }[]>;
}

export interface Embedder {
  /** Stored with an index: vectors of different embedders cannot be compared. */
  readonly id: string;
  /** The weight of its ranking; the search by words has 1. */
  readonly weight: number;
  documents(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  query(text: string, collection: Collection, signal?: AbortSignal): Promise<Float32Array>;
}

const MODEL_WEIGHT = 1.125;
/** Measured by `bench/runtime`: with more weight the combined search is worse than one of its parts. */
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

export const HASH_MODEL = 'local:hash-512';
const DIMENSIONS = 512;
const SHORTEST_GRAM = 3;
const LONGEST_GRAM = 4;
/** The stem's share of a word's weight. Its character grams, which survive a misspelling, have the rest. */
const STEM_SHARE = 0.5;

/** Hashes words and their character 3–4-grams. It needs no model and no network, and knows spelling but no meaning. */
export function hashDocument(text: string): Float32Array {
  const counts = new Map<string, number>();
  for (const word of tellingWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return embed(counts, () => 1);
}

/** Only the question weighs rare words, so that a new document does not change the vectors of others. */
function hashQuery(text: string, collection: Collection): Float32Array {
  const words = tellingWords(text).flatMap((word) => collection.respell(word));
  return embed(new Map(words.map((word) => [word, 1])), (word) => collection.rarity(word));
}

function embed(counts: ReadonlyMap<string, number>, weigh: (word: string) => number): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  for (const [word, count] of counts) {
    const weight = (1 + Math.log(count)) * weigh(word);
    add(vector, `=${stem(word)}`, weight * STEM_SHARE);
    const grams = gramsOf(word);
    for (const gram of grams) add(vector, gram, (weight * (1 - STEM_SHARE)) / Math.sqrt(grams.length));
  }
  return normalised(vector);
}

function gramsOf(word: string): string[] {
  const marked = `<${word}>`;
  const grams: string[] = [];
  for (let size = SHORTEST_GRAM; size <= LONGEST_GRAM; size += 1) {
    for (let at = 0; at + size <= marked.length; at += 1) grams.push(marked.slice(at, at + size));
  }
  return grams;
}

/** The upper bits of the hash choose the sign, so that collisions cancel out. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const text = fnvOfText(feature);
  const hash = text ^ (text >>> 15);
  const slot = (hash >>> 0) % DIMENSIONS;
  vector[slot] = (vector[slot] ?? 0) + (hash & 0x40000000 ? weight : -weight);
}
