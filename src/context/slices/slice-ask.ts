import type { Clock } from '../../base/clock.ts';
import type { CodeToolArgs, CodeToolName, CodeToolResult } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { FileOutline, Listed, SymbolReference } from '../partitioner/answers.ts';
import type { ContextPartitionerService } from '../partitioner/context-partitioner.ts';

/** The questions a slice can ask, about one worktree. */
export interface SliceAsk {
  outline(filePath: string): Promise<FileOutline>;
  tree(directoryPath: string, depth?: number): Promise<CodeToolResult<'get_directory_outline'>>;
  symbol(name: string, withSource: boolean): Promise<CodeToolResult<'get_symbol'>>;
  references(name: string, limit?: number): Promise<Listed<SymbolReference>>;
  find(query: string, limit?: number): Promise<CodeToolResult<'find_symbols'>>;
  search(query: string, limit?: number): Promise<CodeToolResult<'code_search'>>;
  explore(
    question: string,
    options: { budget_tokens: number; files: string[] },
  ): Promise<CodeToolResult<'explore_code'>>;
  hops(file: string, depth?: number): Promise<CodeToolResult<'get_hops'>>;
  /** Rejects when there is no such file. */
  file(path: string): Promise<string>;
}

interface AskDeps {
  service: ContextPartitionerService;
  servers: { ensureServer(worktreePath: string): Promise<unknown> };
  worktreePath: string;
  /** Bounded and safe against links; rejects when there is no such file. */
  readFile(path: string): Promise<Buffer>;
  clock: Clock;
  /** How long answers may take to be complete, all together. */
  completeMs?: number;
}

type Once<T> = (require: { require?: 'complete' }, options: { timeoutMs?: number }) => Promise<T>;

const COMPLETE_MS = 10_000;

/** Asks for complete answers as long as there is time, then for what there is; once more after a death. */
export function createSliceAsk({
  service,
  servers,
  worktreePath,
  readFile,
  clock,
  completeMs = COMPLETE_MS,
}: AskDeps): SliceAsk {
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
  const tool = <T extends CodeToolName>(name: T, args: CodeToolArgs<T>) =>
    ask((require, options) => service.callTool(name, { worktreePath, args: { ...args, ...require } }, options));

  return {
    outline: (filePath) =>
      ask((require, options) => service.getFileOutline({ worktreePath, filePath, ...require }, options)),
    tree: (directory_path, depth) =>
      ask((require, options) => {
        const args = { directory_path, ...require, ...(depth !== undefined && { depth }) };
        return service.getDirectoryOutline({ worktreePath, args }, options);
      }),
    symbol: (name, include_source) => tool('get_symbol', { name, include_source }),
    references: (symbolName, limit) =>
      ask((require, options) => service.getSymbolReferences({ worktreePath, symbolName, limit, ...require }, options)),
    find: (query, limit) => tool('find_symbols', { query, ...(limit !== undefined && { limit }) }),
    search: (query, limit) => tool('code_search', { query, ...(limit !== undefined && { limit }) }),
    explore: (question, within) => tool('explore_code', { question, ...within }),
    hops: (file, depth) => tool('get_hops', { files: [file], ...(depth !== undefined && { depth }) }),
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
