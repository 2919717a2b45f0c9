import type { Clock } from '../../base/clock.ts';
import { onFirstUse } from '../../base/lazily.ts';
import type { CodeToolArgs, CodeToolName } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { ContextPartitionerService } from '../partitioner/context-partitioner.ts';

interface AskDeps {
  service: ContextPartitionerService;
  servers: { ensureServer(worktreePath: string): Promise<unknown> };
  worktreePath: string;
  /** Bounded, and safe against links. Rejects when there is no such file. */
  readFile(path: string): Promise<Buffer>;
  clock: Clock;
  /** How long all answers together may take to be complete. */
  completeMs?: number | undefined;
}

type Once<T> = (require: { require?: 'complete' }, options: { timeoutMs?: number }) => Promise<T>;

const COMPLETE_MS = 10_000;

/** The questions that slices ask about one worktree. */
export type SliceAsk = ReturnType<typeof createSliceAsk>;

/** Asks for complete answers while there is time, then for what there is. Asks once more when the server died. */
export function createSliceAsk({ service, servers, worktreePath, readFile, clock, completeMs = COMPLETE_MS }: AskDeps) {
  const deadline = clock.monotonicMs() + completeMs;
  const ensure = onFirstUse(() => servers.ensureServer(worktreePath));

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
  const tool = <T extends CodeToolName>(name: T, args: CodeToolArgs<T>) =>
    ask((require, options) => service.callTool(name, { worktreePath, args: { ...args, ...require } }, options));

  return {
    outline: (filePath: string) =>
      ask((require, options) => service.getFileOutline({ worktreePath, filePath, ...require }, options)),
    tree: (directory_path: string, depth?: number) =>
      ask((require, options) => {
        const args = { directory_path, ...require, ...(depth !== undefined && { depth }) };
        return service.getDirectoryOutline({ worktreePath, args }, options);
      }),
    symbol: (name: string, include_source: boolean) => tool('get_symbol', { name, include_source }),
    references: (symbolName: string, limit?: number) =>
      ask((require, options) => service.getSymbolReferences({ worktreePath, symbolName, limit, ...require }, options)),
    find: (query: string, limit?: number) => tool('find_symbols', { query, ...(limit !== undefined && { limit }) }),
    search: (query: string, limit?: number) => tool('code_search', { query, ...(limit !== undefined && { limit }) }),
    explore: (question: string, within: { budget_tokens: number; files: string[] }) =>
      tool('explore_code', { question, ...within }),
    hops: (file: string, depth?: number) => tool('get_hops', { files: [file], ...(depth !== undefined && { depth }) }),
    /** Rejects when there is no such file. */
    async file(path: string) {
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
