import { relative } from 'node:path';
import { refusePath, whyUnsafe } from '../../base/safe-path.ts';
import { type CodeToolArgs, type CodeToolName, type CodeToolResult, codeTools } from '../../protocol/code.ts';
import { ReefError } from '../../protocol/errors.ts';
import { McpQueryError, McpServerError, noActiveServer } from '../client/mcp-server-error.ts';
import { answerForRefusal } from '../client/roberto.ts';
import type { JsonRpcClient, RequestOptions } from '../client/stdio-client.ts';
import { type Question, readToolResult } from '../client/tool-result.ts';
import {
  type FileOutline,
  type GetFileOutlineArgs,
  type GetSymbolReferencesArgs,
  type Listed,
  listed,
  type SymbolReference,
  toFileOutline,
  toReference,
} from './answers.ts';

interface ServiceDeps {
  servers: { getClientFor(worktreePath: string): JsonRpcClient | undefined };
}
type PagedTool = 'get_symbol_references' | 'get_directory_outline';

const CALL_MS = 20_000;
const INDEX_MS = 600_000;
const MOST_PAGES = 1_000;

/** Sends each question to the server of its worktree. It keeps no state, starts no server and repeats no question. */
export class ContextPartitionerService {
  static #installed: ContextPartitionerService | undefined;

  readonly #servers: ServiceDeps['servers'];

  constructor({ servers }: ServiceDeps) {
    this.#servers = servers;
  }

  /** The service of the running app, for callers outside Reef. Reef's own code gets it passed in. */
  static getInstance(): ContextPartitionerService {
    const service = ContextPartitionerService.#installed;
    if (service === undefined) throw new ReefError('internal', 'No app runs in this process.');
    return service;
  }

  static install(service: ContextPartitionerService | undefined): void {
    ContextPartitionerService.#installed = service;
  }

  async getFileOutline(
    { worktreePath, filePath, require }: GetFileOutlineArgs,
    options?: RequestOptions,
  ): Promise<FileOutline> {
    const args = { file_path: filePath, ...(require && { require }) };
    return toFileOutline(await this.callTool('get_file_outline', { worktreePath, args }, options));
  }

  /** Reads all pages. */
  async getSymbolReferences(
    { worktreePath, symbolName, limit, require }: GetSymbolReferencesArgs,
    options?: RequestOptions,
  ): Promise<Listed<SymbolReference>> {
    const args = { name: symbolName, ...(limit !== undefined && { limit }), ...(require && { require }) };
    const isEnough = (read: CodeToolResult<'get_symbol_references'>[]) =>
      limit !== undefined && read.reduce((sum, { references }) => sum + references.length, 0) >= limit;
    const { pages, last } = await this.#pages('get_symbol_references', { worktreePath, args }, options, isEnough);
    const references = pages.flatMap((page) => page.references).slice(0, limit);
    return listed(references.map(toReference), last.basis);
  }

  /** Reads all pages. */
  async getDirectoryOutline(
    question: Question<'get_directory_outline'>,
    options?: RequestOptions,
  ): Promise<CodeToolResult<'get_directory_outline'>> {
    const { pages, last } = await this.#pages('get_directory_outline', question, options);
    return { ...last, files: pages.flatMap((page) => page.files) };
  }

  /** Calls any tool. The answer has the same form whichever server gives it. */
  async callTool<T extends CodeToolName>(
    tool: T,
    { worktreePath, args }: Question<T>,
    options: RequestOptions = {},
  ): Promise<CodeToolResult<T>> {
    const client = this.#servers.getClientFor(worktreePath);
    if (client === undefined) throw noActiveServer(worktreePath);
    const checked = checkedArguments(tool, { worktreePath, args });
    const timeoutMs = tool === 'index_code' ? INDEX_MS : CALL_MS;
    try {
      const params = { name: tool, arguments: checked };
      const response = await client.request('tools/call', params, { timeoutMs, ...options });
      return await readToolResult(tool, response, { worktreePath, args: checked });
    } catch (error) {
      return answerForRefusal(tool, error, checked);
    }
  }

  async #pages<T extends PagedTool>(
    tool: T,
    { worktreePath, args }: Question<T>,
    options: RequestOptions | undefined,
    isEnough: (read: CodeToolResult<T>[]) => boolean = () => false,
  ): Promise<{ pages: CodeToolResult<T>[]; last: CodeToolResult<T> }> {
    const pages: CodeToolResult<T>[] = [];
    let cursor: string | undefined;
    while (pages.length < MOST_PAGES) {
      const question = { worktreePath, args: { ...args, ...(cursor !== undefined && { cursor }) } };
      const last = await this.callTool(tool, question, options);
      pages.push(last);
      cursor = last.next_cursor;
      if (cursor === undefined || isEnough(pages)) return { pages, last };
    }
    const message = `The answer to ${tool} has more than ${MOST_PAGES} pages.`;
    throw new McpServerError('analysis_protocol', message, { worktreePath });
  }
}

const PATHS = ['file_path', 'directory_path', 'files', 'paths'];

/** Throws on arguments that the tool would refuse, and on paths that lead out of the worktree. */
function checkedArguments<T extends CodeToolName>(tool: T, { worktreePath, args }: Question<T>): CodeToolArgs<T> {
  const fields = Object.entries(args).filter(([, value]) => value !== undefined);
  const sent = fields.map(([key, value]) => [key, PATHS.includes(key) ? inside(worktreePath, value) : value]);
  const checked = codeTools[tool].input.safeParse(Object.fromEntries(sent));
  if (checked.success) return checked.data as CodeToolArgs<T>;
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  const message = `${tool}: ${field === '' ? '' : `${field}: `}${issue?.message ?? 'not its arguments'}`;
  throw new McpQueryError('bad_arguments', message, { worktreePath, details: { field } });
}

function inside(worktreePath: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inside(worktreePath, item));
  return typeof value === 'string' ? insidePath(worktreePath, value) : value;
}

/** Relative to the worktree. The server itself checks links. */
function insidePath(worktreePath: string, path: string): string {
  const own = path.startsWith(`${worktreePath}/`) ? relative(worktreePath, path) : path;
  const why = whyUnsafe(own);
  if (why !== undefined) throw refusePath(path, why);
  return own;
}
