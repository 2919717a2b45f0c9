import { termsOf } from '../../rag/text/words.ts';
import type { McpTool } from '../factory.ts';

/** The usual constants of BM25: saturation and length normalisation. */
const K1 = 1.2;
const B = 0.75;
/** A word of the name counts more than one of the description. */
const NAME_WEIGHT = 3;

/** The best tools for a query, by BM25 over name, description and argument names. Without a match, the first tools. */
export function searchTools(tools: readonly McpTool[], query: string, topK: number): McpTool[] {
  const documents = tools.map(bag);
  const wanted = new Set(termsOf(query));
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length);
  const idf = new Map([...wanted].map((term) => [term, idfOf(term, documents)]));
  const scored = documents.map(({ counts, length }, index) => {
    let score = 0;
    for (const [term, weight] of idf) {
      const tf = counts.get(term) ?? 0;
      score += (weight * tf * (K1 + 1)) / (tf + K1 * (1 - B + (B * length) / mean));
    }
    return { index, score };
  });
  const hits = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || a.index - b.index);
  return (hits.length > 0 ? hits : scored).slice(0, topK).flatMap(({ index }) => tools[index] ?? []);
}

interface Bag {
  counts: Map<string, number>;
  length: number;
}

function bag({ name, description, inputSchema }: McpTool): Bag {
  const { properties } = inputSchema;
  const argumentNames = typeof properties === 'object' && properties !== null ? Object.keys(properties).join(' ') : '';
  const counts = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + weight);
  };
  add(name, NAME_WEIGHT);
  add(description, 1);
  add(argumentNames, 1);
  return { counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

function idfOf(term: string, documents: readonly Bag[]): number {
  const holders = documents.filter(({ counts }) => counts.has(term)).length;
  return Math.log(1 + (documents.length - holders + 0.5) / (holders + 0.5));
}
