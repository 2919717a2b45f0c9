import { createLease, type Lease } from '../../base/lease.ts';
import { unlessAborted } from '../../base/wait.ts';
import type { HowToOpen, Rag, RagCache, RagKey } from './rag.ts';

export interface OpenedRag extends Rag {
  close(): void;
}

export type OpenRag = (key: RagKey, signal: AbortSignal, how?: HowToOpen) => Promise<OpenedRag | undefined>;

interface Entry {
  id: string;
  loading: Promise<OpenedRag | undefined>;
  /** Leases, and callers that wait for one. */
  refs: number;
  /** Ends a load that nobody waits for. */
  unwanted: AbortController;
}

/** Shares open RAGs. An entry is closed with its last lease. */
export function createRagCache(open: OpenRag): RagCache {
  const entries = new Map<string, Entry>();

  const add = (id: string, key: RagKey, how?: HowToOpen): Entry => {
    const unwanted = new AbortController();
    const entry: Entry = { id, refs: 0, unwanted, loading: open(key, unwanted.signal, how) };
    entries.set(id, entry);
    return entry;
  };

  const leave = (entry: Entry): void => {
    entry.refs -= 1;
    if (entry.refs > 0) return;
    if (entries.get(entry.id) === entry) entries.delete(entry.id);
    entry.unwanted.abort();
    entry.loading.then(
      (rag) => rag?.close(),
      () => {}, // the callers have the failure
    );
  };

  const load = async (key: RagKey, signal?: AbortSignal, how?: HowToOpen): Promise<Lease<Rag> | undefined> => {
    signal?.throwIfAborted();
    const id = idOf(key);
    const entry = entries.get(id) ?? add(id, key, how);
    entry.refs += 1;
    let rag: OpenedRag | undefined;
    try {
      rag = await unlessAborted(entry.loading, signal);
    } catch (error) {
      leave(entry);
      throw error;
    }
    if (rag) return createLease<Rag>(rag, () => leave(entry));
    leave(entry);
    return undefined;
  };

  // Holders keep the entry; it is only no longer found.
  return { load, invalidate: (key) => void entries.delete(idOf(key)) };
}

function idOf({ kind, name }: RagKey): string {
  return `${kind} ${name}`;
}
