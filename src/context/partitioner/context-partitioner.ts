import { realpathSync } from 'node:fs';
import { createSafeDir } from '../../base/safe-dir.ts';
import { type CodeToolArgs, changedMethod } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { JsonRpcClient, RequestOptions } from '../manager/json-rpc-client.ts';
import { McpServerError, noActiveServer } from '../manager/mcp-server-error.ts';
import type * as answers from './answers.ts';
import { listed } from './answers.ts';
import { toEntry, toFileOutline } from './file-outline.ts';
import { answerForRefusal, inOurForm, type Place } from './roberto-answer.ts';
import { toToolArguments } from './tool-arguments.ts';
import { readToolResult } from './tool-result.ts';
import type { WireResult, WireTool } from './wire.ts';

/** A file of the worktree as lines; undefined when it cannot be read. */
type ReadLines = (worktreePath: string, filePath: string) => Promise<string[] | undefined>;

interface ServiceOptions {
  servers: { getClientFor(worktreePath: string): JsonRpcClient | undefined };
  readLines?: ReadLines;
}

const CALL_MS = 20_000;
const INDEX_MS = 600_000;
const MOST_PAGES = 1_000;
const LARGEST_FILE = 8 * 1024 * 1024;

/** Turns questions into messages to the server of the worktree they are about. Keeps nothing, starts nothing, repeats nothing. */
export class ContextPartitionerService {
  /** What `getInstance` reads. The running app installs its instance here; nothing else may use it. */
  static readonly #app: { service?: ContextPartitionerService } = {};

  readonly #servers: ServiceOptions['servers'];
  readonly #readLines: ReadLines;

  constructor({ servers, readLines = readLinesInside }: ServiceOptions) {
    this.#servers = servers;
    this.#readLines = readLines;
  }

  /** The service of the running app (seed 000). Reef's own code gets it passed in. */
  static getInstance(): ContextPartitionerService {
    const { service } = ContextPartitionerService.#app;
    if (service === undefined) throw new ReefError('internal', 'No app runs in this process.');
    return service;
  }

  static install(service: ContextPartitionerService | undefined): void {
    if (service === undefined) delete ContextPartitionerService.#app.service;
    else ContextPartitionerService.#app.service = service;
  }

  async getFileOutline(args: answers.GetFileOutlineArgs, options?: RequestOptions): Promise<answers.FileOutline> {
    return toFileOutline(await this.#call('get_file_outline', args, options));
  }

  /** All pages. */
  async getSymbolReferences(
    args: answers.GetSymbolReferencesArgs,
    options?: RequestOptions,
  ): Promise<answers.Listed<answers.SymbolReference>> {
    const { limit = Number.POSITIVE_INFINITY } = args;
    const pages = await this.#pages('get_symbol_references', args, {
      options,
      isEnough: (read) => read.reduce((sum, { references }) => sum + references.length, 0) >= limit,
    });
    const references = pages.flatMap((page) => page.references).slice(0, limit);
    return listed(references.map(toReference), pages.at(-1)?.basis);
  }

  async getDirectoryOutline(
    args: answers.GetDirectoryOutlineArgs,
    options?: RequestOptions,
  ): Promise<answers.DirectoryOutline> {
    const pages = await this.#pages('get_directory_outline', args, { options, isEnough: () => false });
    const last = pages.at(-1);
    const files = pages.flatMap((page) =>
      page.files.map(({ file_path, symbols }) => ({ filePath: file_path, symbols: symbols.map(toEntry) })),
    );
    return { files, summary: last?.summary ?? '', ...(last?.basis && { basis: last.basis }) };
  }

  async getSymbol(args: answers.GetSymbolArgs, options?: RequestOptions): Promise<answers.Listed<answers.Definition>> {
    return toDefinitions(await this.#call('get_symbol', args, options));
  }

  async findSymbols(
    args: answers.FindSymbolsArgs,
    options?: RequestOptions,
  ): Promise<answers.Listed<answers.Definition>> {
    return toDefinitions(await this.#call('find_symbols', args, options));
  }

  async codeSearch(args: answers.CodeSearchArgs, options?: RequestOptions): Promise<answers.Listed<answers.SearchHit>> {
    const { results, basis } = await this.#call('code_search', args, options);
    return listed(results.map(toHit), basis);
  }

  async exploreCode(args: answers.ExploreCodeArgs, options?: RequestOptions): Promise<answers.Exploration> {
    const { slices, map, tokens, left_out, basis } = await this.#call('explore_code', args, options);
    const shown = slices.map(({ file_path, start_line, end_line, why, text }) => ({
      filePath: file_path,
      startLine: start_line,
      endLine: end_line,
      why,
      text,
    }));
    return { slices: shown, map, tokens, leftOut: left_out, ...(basis && { basis }) };
  }

  async indexCode(args: answers.IndexCodeArgs, options?: RequestOptions): Promise<answers.IndexReport> {
    const wire = await this.#call('index_code', args, { timeoutMs: INDEX_MS, ...options });
    const { status, files_indexed, symbols_found, errors, duration_ms, reused, pending, basis } = wire;
    return {
      status,
      filesIndexed: files_indexed,
      symbolsFound: symbols_found,
      errors,
      durationMs: duration_ms,
      ...(reused !== undefined && { reused }),
      ...(pending !== undefined && { pending }),
      ...(basis && { basis }),
    };
  }

  async hops(args: answers.HopsArgs, options?: RequestOptions): Promise<answers.Hops> {
    const { files, basis } = await this.#call('get_hops', args, options);
    const shown =
      files === 'unknown'
        ? files
        : files.map(({ file_path, distance, via }) => ({ filePath: file_path, distance, via }));
    return { files: shown, ...(basis && { basis }) };
  }

  /** Tells the server of edits before anybody asks (C-034). Without one there is nobody to tell. */
  announceChanges({ worktreePath, paths }: { worktreePath: string; paths: readonly string[] }): void {
    this.#servers.getClientFor(worktreePath)?.notify(changedMethod, { paths });
  }

  /** A tool with arguments of its own, answered as our server answers: for surfaces, which offer just that. */
  async callTool<T extends WireTool>(
    tool: T,
    { worktreePath, args }: { worktreePath: string; args: CodeToolArgs<T> },
    options: RequestOptions = {},
  ): Promise<WireResult<T>> {
    const client = this.#servers.getClientFor(worktreePath);
    if (client === undefined) throw noActiveServer(worktreePath);
    const params = { name: tool, arguments: args };
    const answer = await client
      .request('tools/call', params, { timeoutMs: CALL_MS, ...options })
      .then((response) => readToolResult(tool, response, worktreePath))
      .catch((error: unknown) => answerForRefusal(tool, error));
    // Ours says what an answer rests on.
    return answer.basis ? answer : inOurForm(tool, answer, { args, place: this.#placeOf(worktreePath) });
  }

  #call<T extends WireTool>(tool: T, args: { worktreePath: string }, options?: RequestOptions): Promise<WireResult<T>> {
    return this.callTool(tool, { worktreePath: args.worktreePath, args: toToolArguments(tool, args) }, options);
  }

  async #pages<T extends 'get_symbol_references' | 'get_directory_outline'>(
    tool: T,
    args: { worktreePath: string },
    { options, isEnough }: { options: RequestOptions | undefined; isEnough(read: WireResult<T>[]): boolean },
  ): Promise<WireResult<T>[]> {
    const pages: WireResult<T>[] = [];
    let cursor: string | undefined;
    do {
      const page: WireResult<T> = await this.#call(tool, { ...args, cursor } as typeof args, options);
      pages.push(page);
      cursor = page.next_cursor;
    } while (cursor !== undefined && !isEnough(pages) && pages.length < MOST_PAGES);
    if (cursor === undefined || isEnough(pages)) return pages;
    const message = `The answer to ${tool} has more than ${MOST_PAGES} pages.`;
    throw new McpServerError('analysis_protocol', message, { worktreePath: args.worktreePath });
  }

  /** Files are read only for servers that do not say what stands in a line, each once for an answer. */
  #placeOf(worktreePath: string): Place {
    const read = new Map<string, Promise<string[]>>();
    const real = realPath(worktreePath);
    return {
      roots: [worktreePath, real],
      linesOf: (filePath) => {
        const lines = read.get(filePath) ?? this.#readLines(real, filePath).then((found) => found ?? []);
        read.set(filePath, lines);
        return lines;
      },
    };
  }
}

function toReference({
  location,
  reference_type,
  confidence,
  line_text = '',
}: WireResult<'get_symbol_references'>['references'][number]): answers.SymbolReference {
  const { file: filePath, start_line: line, start_column: column } = location;
  return { filePath, line, column, kind: reference_type, confidence, lineText: line_text };
}

function toHit(hit: WireResult<'code_search'>['results'][number]): answers.SearchHit {
  const { file_path: filePath, line = null, line_text = '', content_snippet: snippet, language = null, score } = hit;
  return { filePath, line, lineText: line_text, snippet, language, score };
}

function toDefinitions({ symbols, basis }: WireResult<'get_symbol'>): answers.Listed<answers.Definition> {
  const shown = symbols.map(({ name, symbol_type, location, namespace, visibility, signature, source }) => ({
    name,
    kind: symbol_type,
    filePath: location.file,
    line: location.start_line,
    column: location.start_column,
    endLine: location.end_line,
    container: namespace ?? null,
    visibility: visibility ?? 'public',
    signature: signature ?? name,
    ...(typeof source === 'string' && { source }),
  }));
  return listed(shown, basis);
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

async function readLinesInside(worktreePath: string, filePath: string): Promise<string[] | undefined> {
  const bytes = await createSafeDir(worktreePath)
    .read(filePath, LARGEST_FILE)
    .catch(() => undefined);
  return bytes?.toString('utf8').split(/\r?\n/);
}
