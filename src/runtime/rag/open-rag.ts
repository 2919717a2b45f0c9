import { toReefError } from '../../protocol/errors.ts';
import type { OpenedRag } from './cache.ts';
import type { RagDefinition } from './definition.ts';
import { createEmbedder, type RagModels } from './index/embedder.ts';
import { IndexReader } from './index/reader.ts';
import { type Retrieval, retrieve } from './index/search.ts';
import type { IndexMeta } from './index/writer.ts';
import type { RagHit, RagInfo, RagKey, SearchOptions } from './rag.ts';

export interface OpenRequest {
  key: RagKey;
  /** The file of the definition. */
  file: string;
  index: string;
  definition: RagDefinition;
  meta: IndexMeta;
  models: RagModels;
  warn(message: string): void;
}

export function openRag(request: OpenRequest): OpenedRag {
  const { key, definition, meta, models, warn } = request;
  const index = new IndexReader(request.index);
  const embedder = meta.embedder === '' ? undefined : createEmbedder(meta.embedder, models);
  const settings = { top_k: definition.top_k, reranker_model: definition.reranker_model };
  const retrieval: Retrieval = {
    index,
    embedder,
    onEmbedderFailure: (error) =>
      warn(`${meta.embedder} failed, so this search was by words only: ${toReefError(error).message}`),
  };

  const search = async (question: string, options: SearchOptions): Promise<RagHit[]> => {
    const { isDry = false } = options;
    const used = isDry ? { ...retrieval, embedder: undefined } : retrieval;
    const found = await retrieve(used, { question, topK: options.top_k, signal: options.signal });
    const hits = found.flatMap(({ id, score }): RagHit[] => {
      const chunk = index.chunk(id);
      return chunk ? [{ ...chunk, score }] : [];
    });
    const ranked = isDry ? hits : await reranked(hits, question, { options, models, warn });
    return ranked.slice(0, options.top_k);
  };

  const info = (): RagInfo => ({
    key,
    file: request.file,
    documents: definition.document_paths,
    files: index.files,
    chunks: index.chunks,
    embedding_model: meta.embedder === '' ? null : meta.embedder,
    ...settings,
    chunk_size: meta.chunk_size,
    chunk_overlap: meta.chunk_overlap,
    retrieval: describe(meta),
    failed: index.failed(),
  });

  return { key, settings, search, info, close: () => index.close() };
}

/** A reranker replaces the order of the fusion. If it fails, that order stays. */
async function reranked(
  hits: RagHit[],
  query: string,
  { options, models, warn }: Pick<OpenRequest, 'models' | 'warn'> & { options: SearchOptions },
): Promise<RagHit[]> {
  const { reranker_model: model, top_k: topK, signal } = options;
  if (!model || hits.length === 0) return hits;
  try {
    const order = await models.rerank(model, { query, documents: hits.map(({ text }) => text), topK }, signal);
    return order.flatMap(({ index, score }) => {
      const hit = hits[index];
      return hit ? [{ ...hit, score }] : [];
    });
  } catch (error) {
    signal?.throwIfAborted();
    warn(`${model} failed, so the order is that of the search: ${toReefError(error).message}`);
    return hits;
  }
}

function describe({ embedder, wanted_embedder }: IndexMeta): string {
  const byWords = 'by words (BM25, with word forms, parts of identifiers, misspellings and phrases)';
  if (embedder !== '') return `${byWords} and by vectors of ${embedder}, fused by rank`;
  const noSynonyms = `${byWords}; it finds no synonyms`;
  return wanted_embedder === '' ? noSynonyms : `${noSynonyms}, because ${wanted_embedder} failed when it was built`;
}
