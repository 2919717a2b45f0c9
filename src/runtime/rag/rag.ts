import type { Lease } from '../../base/lease.ts';

/** Two namespaces: `rags/NAME.yaml` and `agents/NAME/rag.yaml`. */
export interface RagKey {
  kind: 'named' | 'agent';
  name: string;
}

export interface RagHit {
  text: string;
  /** The path or URL of the document. */
  source: string;
  /** The number of the chunk, from 1. */
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
  /** How the search works, in words. */
  retrieval: string;
  /** The documents that could not be loaded. */
  failed: readonly { source: string; reason: string }[];
}

export interface SearchOptions {
  top_k: number;
  reranker_model?: string | null | undefined;
  /** Searches by words alone: no model is asked. */
  isDry?: boolean;
  signal?: AbortSignal | undefined;
}

/** An open index. A rebuild makes another one. */
export interface Rag {
  readonly key: RagKey;
  /** `.set` changes these in memory, for all holders. */
  readonly settings: { top_k: number | null; reranker_model: string | null };
  /** An embedder that fails does not fail the search. */
  search(question: string, options: SearchOptions): Promise<RagHit[]>;
  info(): RagInfo;
}

export interface HowToOpen {
  /** Takes the index as it is: nothing is built. Undefined if there is none. */
  isDry?: boolean;
}

export interface RagCache {
  /** Undefined if there is no such definition. Builds an index that is missing or was made with other settings. */
  load(key: RagKey, signal?: AbortSignal, how?: HowToOpen): Promise<Lease<Rag> | undefined>;
  /** Holders keep their index; the next load opens it anew. */
  invalidate(key: RagKey): void;
}

/** The default of `rag_template`. */
const TEMPLATE = `Answer the question with the help of the passages between <context> tags. They were found by a search and may be beside
the point: use what answers the question, leave out the rest, and say so when they do not answer it. Give the sources of
what you use.

<context>
__CONTEXT__
</context>

<sources>
__SOURCES__
</sources>

<question>
__INPUT__
</question>`;

const PLACEHOLDER = /__(CONTEXT|SOURCES|INPUT)__/g;

/** Fills the template in one pass: placeholders inside the values stay as they are. */
export function fillTemplate(
  template: string | null,
  values: { context: string; sources: string; input: string },
): string {
  const by = { CONTEXT: values.context, SOURCES: values.sources, INPUT: values.input };
  return (template ?? TEMPLATE).replace(PLACEHOLDER, (_, name: keyof typeof by) => by[name]);
}
