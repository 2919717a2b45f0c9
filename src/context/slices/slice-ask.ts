import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type {
  Definition,
  DirectoryOutline,
  Exploration,
  FileOutline,
  Hops,
  Listed,
  SearchHit,
  SymbolReference,
} from '../partitioner/answers.ts';
import type { ContextPartitionerService } from '../partitioner/context-partitioner.ts';

/** The questions a slice can ask, about one worktree. */
export interface SliceAsk {
  outline(filePath: string): Promise<FileOutline>;
  tree(directoryPath: string, depth?: number): Promise<DirectoryOutline>;
  symbol(name: string, withSource: boolean): Promise<Listed<Definition>>;
  references(name: string, limit?: number): Promise<Listed<SymbolReference>>;
  find(query: string, limit?: number): Promise<Listed<Definition>>;
  search(query: string, limit?: number): Promise<Listed<SearchHit>>;
  explore(question: string, options: { budgetTokens: number; files: string[] }): Promise<Exploration>;
  hops(file: string, depth?: number): Promise<Hops>;
  /** Undefined: there is no such file. */
  file(path: string): Promise<string>;
}

interface AskParts {
  service: ContextPartitionerService;
  servers: { ensureServer(worktreePath: string): Promise<unknown> };
  worktreePath: string;
  /** Bounded and safe against links; rejects when there is no such file. */
  readFile(path: string): Promise<Buffer>;
  clock: Clock;
  /** How long answers may take to be complete, all together (C-104). */
  completeMs?: number;
}

type Once<T> = (require: { require?: 'complete' }, options: { timeoutMs?: number }) => Promise<T>;

const COMPLETE_MS = 10_000;

/** Asks for complete answers as long as there is time, then for what there is; once more after a death (C-085). */
export function createSliceAsk({
  service,
  servers,
  worktreePath,
  readFile,
  clock,
  completeMs = COMPLETE_MS,
}: AskParts): SliceAsk {
  const deadline = clock.monotonicMs() + completeMs;
  let server: Promise<unknown> | undefined;
  const ensure = () => {
    server ??= servers.ensureServer(worktreePath);
    return server;
  };

  const askNow = async <T>(once: Once<T>): Promise<T> => {
    const timeoutMs = Math.floor(deadline - clock.monotonicMs());
    if (timeoutMs <= 0) return once({}, {});
    return once({ require: 'complete' }, { timeoutMs }).catch((error: unknown) => {
      if (isCode(error, 'index_incomplete') || isCode(error, 'analysis_timeout')) return once({}, {});
      throw error;
    });
  };
  const ask = async <T>(once: Once<T>): Promise<T> => {
    await ensure();
    return askNow(once).catch(async (error: unknown) => {
      if (!isCode(error, 'analysis_server_died') && !isCode(error, 'no_active_server')) throw error;
      await servers.ensureServer(worktreePath);
      return askNow(once);
    });
  };
  const at = { worktreePath };
  const some = <K extends string>(key: K, value: number | undefined) =>
    (value === undefined ? {} : { [key]: value }) as { [P in K]?: number };

  return {
    outline: (filePath) => ask((r, o) => service.getFileOutline({ ...at, ...r, filePath }, o)),
    tree: (directoryPath, depth) =>
      ask((r, o) => service.getDirectoryOutline({ ...at, ...r, directoryPath, ...some('depth', depth) }, o)),
    symbol: (symbolName, includeSource) =>
      ask((r, o) => service.getSymbol({ ...at, ...r, symbolName, includeSource }, o)),
    references: (symbolName, limit) =>
      ask((r, o) => service.getSymbolReferences({ ...at, ...r, symbolName, ...some('limit', limit) }, o)),
    find: (query, limit) => ask((r, o) => service.findSymbols({ ...at, ...r, query, ...some('limit', limit) }, o)),
    search: (query, limit) => ask((r, o) => service.codeSearch({ ...at, ...r, query, ...some('limit', limit) }, o)),
    explore: (question, options) => ask((r, o) => service.exploreCode({ ...at, ...r, question, ...options }, o)),
    hops: (file, depth) => ask((r, o) => service.hops({ ...at, ...r, files: [file], ...some('depth', depth) }, o)),
    async file(path) {
      const bytes = await readFile(path).catch((cause: unknown) => {
        if (cause instanceof ReefError) throw cause;
        throw new ReefError('file_not_found', `There is no file ${path}.`, { cause });
      });
      return bytes.toString('utf8');
    },
  };
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof ReefError && error.code === code;
}
