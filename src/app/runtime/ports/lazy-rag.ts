import { lazily } from '../../../base/lazily.ts';
import type { RagLibrary } from '../../../runtime/rag/library.ts';
import type { RagCache } from '../../../runtime/rag/rag.ts';

export interface RagPorts {
  cache: RagCache;
  rebuild: RagLibrary['rebuild'];
}

/** Index and loaders, read with the first RAG that is used. */
export function lazyRag(openLibrary: () => Promise<RagLibrary>): RagPorts {
  const parts = lazily(async () => {
    const [{ createRagCache }, library] = await Promise.all([import('../../../runtime/rag/cache.ts'), openLibrary()]);
    return { library, cache: createRagCache((key, signal) => library.open(key, signal)) };
  });
  return {
    cache: {
      load: async (key, signal) => (await parts.get()).cache.load(key, signal),
      invalidate: (key) => void parts.made()?.then(({ cache }) => cache.invalidate(key)),
    },
    rebuild: async (key, change) => (await parts.get()).library.rebuild(key, change),
  };
}
