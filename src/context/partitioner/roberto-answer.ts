import { join } from 'node:path';
import type { CodeToolArgs } from '../../protocol/code.ts';
import { McpQueryError } from '../manager/mcp-server-error.ts';
import { readDeclaration, sourceAt } from './declaration.ts';
import { lineOfSnippet, relativePath } from './roberto-places.ts';
import type { WireResult, WireTool } from './wire.ts';

/**
 * Answers of roberto-mcp 0.2.1 in the form of our own (C-095), so that nobody else has to know which server spoke: paths relative
 * to the worktree, each place once, lines and their text out of the files.
 */

export interface Place {
  /** The worktree as it was named, and as it really is. */
  roots: readonly string[];
  /** Empty when the file cannot be read. */
  linesOf(filePath: string): Promise<readonly string[]>;
}

interface Asked<T extends WireTool> {
  args: CodeToolArgs<T>;
  place: Place;
}
type Translate<T extends WireTool> = (answer: WireResult<T>, asked: Asked<T>) => Promise<WireResult<T>>;

const TRANSLATIONS: { [T in WireTool]?: Translate<T> } = {
  // It answers when all is read, and begins anew each time.
  index_code: async (answer) => ({ reused: 0, pending: 0, ...answer }),
  get_symbol: ({ symbols }, { place }) => toSymbols(symbols, place),
  find_symbols: ({ symbols }, { place }) => toSymbols(symbols, place),
  get_symbol_references: toReferences,
  code_search: toHits,
  get_file_outline: toOutline,
  get_directory_outline: async ({ files, summary }, { args }) => ({
    files: files.map((file) => ({ ...file, file_path: join(args.directory_path, file.file_path) })),
    summary,
  }),
};

export async function inOurForm<T extends WireTool>(
  tool: T,
  answer: WireResult<T>,
  asked: Asked<T>,
): Promise<WireResult<T>> {
  const translate: Translate<T> | undefined = TRANSLATIONS[tool];
  return translate ? translate(answer, asked) : answer;
}

const NO_SYMBOLS = 'No symbols found for file ';
const METHOD_NOT_FOUND = -32_601;

/** What ours would say where roberto-mcp refuses: it knows no empty outline, and neither hops nor explore. */
export function answerForRefusal<T extends WireTool>(tool: T, error: unknown): WireResult<T> {
  if (!(error instanceof McpQueryError)) throw error;
  if (tool === 'get_file_outline' && error.message.startsWith(NO_SYMBOLS)) return { symbols: [] } as WireResult<T>;
  if (error.details?.rpcCode !== METHOD_NOT_FOUND) throw error;
  if (tool === 'get_hops') return { files: 'unknown' } as WireResult<T>;
  const { worktreePath } = error;
  throw new McpQueryError('mcp_query', `This analysis server has no ${tool}.`, { worktreePath, cause: error });
}

type Located = { location: { file: string; start_line: number; start_column: number } };

/** What lies outside is left out. After an edit roberto-mcp names a file by both its paths, and a use once per definition. */
function insideOnce<S extends Located>(items: readonly S[], { roots }: Place, nameOf: (item: S) => string): S[] {
  const places = new Map<string, S>();
  for (const item of items) {
    const file = relativePath(roots, item.location.file);
    const { start_line, start_column } = item.location;
    const key = `${file}:${start_line}:${start_column}:${nameOf(item)}`;
    if (file !== undefined && !places.has(key)) places.set(key, { ...item, location: { ...item.location, file } });
  }
  return [...places.values()];
}

async function toSymbols(symbols: WireResult<'get_symbol'>['symbols'], place: Place) {
  const inside = insideOnce(symbols, place, ({ name, symbol_type }) => `${symbol_type} ${name}`);
  return {
    symbols: inside.map(({ source, ...symbol }) => {
      const { name, namespace, location, symbol_type, signature = signatureIn(source ?? '', symbol_type) } = symbol;
      const id = `${location.file}#${namespace ? `${namespace}.` : ''}${name}:${location.start_line}`;
      const shown = { visibility: 'public', ...symbol, id, signature: signature || name };
      return typeof source === 'string' ? { ...shown, source } : shown;
    }),
  };
}

function signatureIn(source: string, kind: string): string {
  const declared = /^(?:function|method)$/.test(kind) ? readDeclaration(source)?.signature : undefined;
  return declared ?? source.trimStart().split('\n', 1)[0]?.trimEnd() ?? '';
}

async function toReferences(
  { references }: WireResult<'get_symbol_references'>,
  { args, place }: Asked<'get_symbol_references'>,
) {
  const inside = insideOnce(references, place, ({ reference_type }) => reference_type);
  const shown = inside.slice(0, args.limit).map(async (reference) => {
    const { file, start_line } = reference.location;
    const line_text = reference.line_text ?? (await place.linesOf(file))[start_line - 1] ?? '';
    return { ...reference, line_text };
  });
  return { references: await Promise.all(shown), total_count: inside.length };
}

async function toHits({ results }: WireResult<'code_search'>, { args, place }: Asked<'code_search'>) {
  const shown = results.map(async ({ language = null, ...hit }) => {
    const file_path = relativePath(place.roots, hit.file_path);
    if (file_path === undefined) return [];
    const lines = await place.linesOf(file_path);
    const line = hit.line ?? lineOfSnippet(lines, hit.content_snippet, args.query);
    const line_text = hit.line_text ?? (line === null ? '' : (lines[line - 1] ?? ''));
    return [{ ...hit, language, file_path, line, line_text }];
  });
  const found = (await Promise.all(shown)).flat();
  return { results: found, total_found: found.length };
}

async function toOutline(
  { symbols }: WireResult<'get_file_outline'>,
  { args: { file_path }, place }: Asked<'get_file_outline'>,
) {
  const lines = await place.linesOf(file_path);
  const inOrder = symbols.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  const named = inOrder.map(({ column, ...symbol }) => {
    if (column === undefined || symbol.line === null || symbol.symbol_type !== 'function') return symbol;
    const source = lines.length > 0 ? sourceAt(lines, { line: symbol.line, column }) : symbol.signature;
    return { ...symbol, ...readDeclaration(source) };
  });
  return { file_path, language: null, symbols: named };
}
