import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readEnvironment } from '../../../src/base/env.ts';
import { lazily } from '../../../src/base/lazily.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { createRagCache, type OpenRag } from '../../../src/runtime/rag/cache.ts';
import { createRagLibrary, type RagDeps } from '../../../src/runtime/rag/library.ts';
import type { RagKey } from '../../../src/runtime/rag/rag.ts';
import { createRunCommand, type RunCommand } from '../../../src/runtime/tools/command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface World {
  root: string;
  library: ReturnType<typeof createRagLibrary>;
  cache: ReturnType<typeof createRagCache>;
  /** What the cache opens by, and what counts. */
  open: OpenRag;
  /** Keys that were opened on disk, in order. */
  opened: string[];
  warnings: string[];
  write(path: string, text: string | Uint8Array): string;
  remove(path: string): void;
}

type Options = Partial<Omit<RagDeps, 'config'>> & { config?: Partial<RagDeps['config']> };

const noModel = () => Promise.reject(new Error('there is no model here'));

/** As tools run theirs; what the machine can do is looked at when the first one is run. */
export function runCommand(env: Readonly<NodeJS.ProcessEnv> = readEnvironment().all): RunCommand {
  const capabilities = lazily(() => probeCapabilities());
  return async (spec) => createRunCommand({ capabilities: await capabilities.get(), env })(spec);
}

/** A configuration folder with documents, a library over it and a cache that counts what it reads. */
export function ragWorld({ config, ...more }: Options = {}): World {
  const root = temporaryFolder();
  const opened: string[] = [];
  const warnings: string[] = [];
  const library = createRagLibrary({
    fileOf: ({ kind, name }: RagKey) =>
      kind === 'named' ? join(root, 'rags', `${name}.yaml`) : join(root, 'agents', name, 'rag.yaml'),
    models: { embed: noModel, rerank: noModel, chunkSizeOf: () => undefined },
    fetch,
    cwd: root,
    home: root,
    run: runCommand(),
    warn: (message) => warnings.push(message),
    ...more,
    config: {
      rag_embedding_model: null,
      rag_chunk_size: null,
      rag_chunk_overlap: null,
      document_loaders: {},
      ...config,
    },
  });
  const open: OpenRag = (key, signal) => {
    opened.push(`${key.kind} ${key.name}`);
    return library.open(key, signal);
  };
  return {
    root,
    library,
    cache: createRagCache(open),
    open,
    opened,
    warnings,
    write(path, text) {
      const full = join(root, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, text);
      return full;
    },
    remove: (path) => rmSync(join(root, path)),
  };
}

export const named = (name: string): RagKey => ({ kind: 'named', name });
export const agent = (name: string): RagKey => ({ kind: 'agent', name });
