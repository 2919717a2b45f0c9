import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { ModelRegistry } from '../models/client.ts';
import type { RunCommand } from '../tools/command.ts';
import type { OpenedRag } from './cache.ts';
import { lokiFiles, type RagDefinition, readDefinition, writeDefinition } from './definition.ts';
import { type BuildReport, buildIndex, importIndex } from './index/build.ts';
import { createEmbedder, type RagModels } from './index/embedder.ts';
import { hasTraits, type IndexTraits, readMeta } from './index/writer.ts';
import { documentsOf } from './load/sources.ts';
import type { Fetch } from './load/web.ts';
import { openRag } from './open-rag.ts';
import type { HowToOpen, RagKey } from './rag.ts';

/** `rag_embedding_model: null` searches by words alone: no embedder that fits a package is better. */
const DEFAULT_EMBEDDER = '';
const CHUNK_SIZE = 2000;
const OVERLAP_SHARE = 20;

export interface RagDeps {
  /** The file of a definition. */
  fileOf(key: RagKey): string;
  config: {
    readonly rag_embedding_model: string | null;
    readonly rag_chunk_size: number | null;
    readonly rag_chunk_overlap: number | null;
    readonly document_loaders: Readonly<Record<string, string>>;
  };
  models: RagModels & { chunkSizeOf(model: string): number | undefined };
  fetch: Fetch;
  cwd: string;
  /** For `~`. */
  home: string;
  /** Starts the programs that load documents. */
  run: RunCommand;
  warn(message: string): void;
  /** Fills the secrets of a loader's command. */
  reveal?: ((words: string[]) => Promise<string[]>) | undefined;
}

export interface RagLibrary {
  /** Builds an index that is missing or was made with other settings. */
  open(key: RagKey, signal?: AbortSignal, how?: HowToOpen): Promise<OpenedRag | undefined>;
  /** Updates an index. With `documents` it changes the definition, or makes one. */
  rebuild(
    key: RagKey,
    change?: { documents?: readonly string[]; signal?: AbortSignal | undefined },
  ): Promise<BuildReport>;
}

export function createRagLibrary(deps: RagDeps): RagLibrary {
  const build = async (key: RagKey, definition: RagDefinition, signal?: AbortSignal): Promise<BuildReport> => {
    const file = deps.fileOf(key);
    const traits = traitsOf(definition, deps);
    const embedder = traits.wanted_embedder === '' ? undefined : createEmbedder(traits.wanted_embedder, deps.models);
    const { run, fetch, config } = deps;
    // An agent's documents lie beside its definition.
    const cwd = key.kind === 'agent' ? dirname(file) : deps.cwd;
    const settings = { cwd, run, fetch, loaders: config.document_loaders, reveal: deps.reveal, signal };
    await mkdir(dirname(file), { recursive: true });
    const paths = definition.document_paths.map((path) => atHome(path, deps.home));
    const documents = documentsOf(paths, settings);
    return await buildIndex({ path: indexOf(file), traits, embedder, documents, signal, warn: deps.warn });
  };

  return {
    async open(key, signal, { isDry = false } = {}) {
      const file = deps.fileOf(key);
      const definition = readDefinition(file);
      if (!definition) return undefined;
      const index = indexOf(file);
      const before = readMeta(index);
      const isCurrent = before !== undefined && hasTraits(before, traitsOf(definition, deps));
      // Our own index is newer than what Loki left.
      const left = before === undefined ? lokiFiles(definition) : undefined;
      if (left) await importIndex(index, traitsOf(definition, deps), left);
      else if (!isCurrent && isDry && !before) return undefined;
      else if (!isCurrent && !isDry) await build(key, definition, signal);
      const meta = readMeta(index);
      signal?.throwIfAborted();
      if (!meta) throw new ReefError('storage_unavailable', `The index ${index} cannot be read`);
      return openRag({ key, file, index, definition, meta, models: deps.models, warn: deps.warn });
    },

    async rebuild(key, { documents, signal } = {}) {
      const file = deps.fileOf(key);
      const earlier = readDefinition(file);
      if (!earlier && !documents) throw new ReefError('rag_not_found', `There is no RAG definition ${file}`);
      // A named RAG is used from any folder, so its paths are made absolute.
      const paths =
        documents && (key.kind === 'named' ? documents.map((path) => absolute(path, deps)) : [...documents]);
      const definition = { ...(earlier ?? emptyDefinition(deps)), ...(paths && { document_paths: paths }) };
      const report = await build(key, definition, signal);
      // After the index: a build that fails has changed nothing.
      if (!earlier) await writeDefinition(file, definition);
      else if (paths) await writeDefinition(file, { document_paths: paths });
      return report;
    },
  };
}

function emptyDefinition({ config }: RagDeps): RagDefinition {
  return {
    embedding_model: config.rag_embedding_model,
    chunk_size: config.rag_chunk_size,
    chunk_overlap: config.rag_chunk_overlap,
    reranker_model: null,
    top_k: null,
    document_paths: [],
  };
}

function traitsOf(definition: RagDefinition, { config, models }: RagDeps): IndexTraits {
  const wanted = definition.embedding_model ?? config.rag_embedding_model ?? DEFAULT_EMBEDDER;
  const size = definition.chunk_size ?? config.rag_chunk_size ?? models.chunkSizeOf(wanted) ?? CHUNK_SIZE;
  const overlap = definition.chunk_overlap ?? config.rag_chunk_overlap ?? Math.floor(size / OVERLAP_SHARE);
  return { chunk_size: size, chunk_overlap: Math.min(overlap, size - 1), wanted_embedder: wanted };
}

function indexOf(file: string): string {
  return file.replace(/\.yaml$/, '.sqlite');
}

const atHome = (path: string, home: string) => path.replace(/^~(?=\/|$)/, home);

function absolute(given: string, { cwd, home, config }: RagDeps): string {
  const source = atHome(given, home);
  const [, loader] = /^([A-Za-z0-9_-]+):/.exec(source) ?? [];
  const isElsewhere =
    loader !== undefined && (/^https?$/.test(loader) || Object.hasOwn(config.document_loaders, loader));
  return isElsewhere ? source : resolve(cwd, source);
}

/** The registry as a RAG uses it. */
export function ragModels(registry: ModelRegistry): RagDeps['models'] {
  return {
    async embed(id, texts, signal) {
      const model = registry.find(id, 'embedding');
      const reply = await registry.client(model).embed({ model, texts, ...(signal && { signal }) });
      return reply.vectors;
    },
    async rerank(id, { query, documents, topK }, signal) {
      const model = registry.find(id, 'reranker');
      const request = { model, query, documents, top_n: topK, ...(signal && { signal }) };
      return (await registry.client(model).rerank(request)).results;
    },
    chunkSizeOf: (id) => registry.list('embedding').find((model) => model.id === id)?.data.default_chunk_size,
  };
}
