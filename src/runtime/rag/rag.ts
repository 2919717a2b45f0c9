import type { Lease } from '../../base/lease.ts';

/** Two namespaces: `rags/NAME.yaml` and `agents/NAME/rag.yaml`. */
export interface RagKey {
  kind: 'named' | 'agent';
  name: string;
}

export interface RagHit {
  text: string;
  /** Path or URL of the document. */
  source: string;
  /** Which chunk of the document, from 1. */
  chunk: number;
  score: number;
}

export interface RagInfo {
  key: RagKey;
  file: string;
  documents: readonly string[];
  files: number;
  chunks: number;
  embedding_model: string | null;
  reranker_model: string | null;
  top_k: number | null;
  chunk_size: number;
  chunk_overlap: number;
  /** How a search works here, in words. */
  retrieval: string;
  /** Documents that could not be loaded, with the reason. */
  failed: readonly { source: string; reason: string }[];
}

/** As the context resolved them, the RAG's own settings included (§3). */
export interface SearchOptions {
  top_k: number;
  reranker_model?: string | null | undefined;
  signal?: AbortSignal | undefined;
}

/** An opened index. Immutable but for `settings`: a rebuild makes another. */
export interface Rag {
  readonly key: RagKey;
  /** What `.set` writes to while the RAG is active; shared by all holders, in memory only. */
  readonly settings: { top_k: number | null; reranker_model: string | null };
  /** Several phrasings of one question are fused by rank. Never fails for want of an embedder. */
  search(question: string | readonly string[], options: SearchOptions): Promise<RagHit[]>;
  info(): RagInfo;
}

export interface RagCache {
  /** Undefined when there is no such definition. An index that is missing, or made otherwise, is built first. */
  load(key: RagKey, signal?: AbortSignal): Promise<Lease<Rag> | undefined>;
  /** Holders keep what they have; the next load is fresh. */
  invalidate(key: RagKey): void;
}
