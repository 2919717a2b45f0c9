import { realpathSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { z } from 'zod';
import { createSafeDir } from '../../base/safe-dir.ts';
import type {
  Basis,
  CodeReference,
  CodeSymbol,
  CodeToolArgs,
  CodeToolName,
  CodeToolResult,
  OutlineSymbol,
  SymbolType,
} from '../../protocol/code.ts';
import { readDeclaration, sourceAt } from './declaration.ts';
import { McpQueryError } from './mcp-server-error.ts';

/**
 * Everything Reef knows about roberto-mcp 0.2.1, which `context.server` may name instead of our own server. Its answers are
 * translated into ours: it names files by their real path and kinds with a capital letter, omits lines, confidence and
 * signatures, writes outlines as text, and never says how complete an answer is.
 */

type Answer<T extends CodeToolName> = Omit<CodeToolResult<T>, 'basis'>;
interface Asked<T extends CodeToolName> {
  args: CodeToolArgs<T>;
  checkout: Checkout;
}

const count = z.number().int().nonnegative();
const lowered = <T extends string>() => z.string().transform((text) => text.toLowerCase() as T);
const location = z.object({
  file: z.string(),
  start_line: count,
  start_column: count,
  end_line: count,
  end_column: count,
});

const indexed = z.object({
  status: z.enum(['success', 'partial']),
  files_indexed: count,
  symbols_found: count,
  errors: z.array(z.string()),
  duration_ms: z.number().nonnegative(),
});
const found = z.object({
  symbols: z.array(
    z.object({
      name: z.string(),
      symbol_type: lowered<SymbolType>(),
      location,
      namespace: z.string().nullish(),
      visibility: lowered<CodeSymbol['visibility']>().default('public'),
      source: z.string().nullish(),
    }),
  ),
});
const referring = z.object({
  references: z.array(z.object({ location, reference_type: z.string() })),
});
const matching = z.object({
  results: z.array(
    z.object({
      score: z.number(),
      file_path: z.string(),
      language: z.string().nullable().default(null),
      content_snippet: z.string(),
    }),
  ),
});

/** Undefined when this is no answer of roberto-mcp either. */
export async function robertoAnswer<T extends CodeToolName>(
  tool: T,
  value: unknown,
  { worktreePath, args }: { worktreePath: string; args: CodeToolArgs<T> },
): Promise<CodeToolResult<T> | undefined> {
  const translate = TRANSLATIONS[tool] as Translate<T> | undefined;
  const answer = await translate?.(value, { args, checkout: new Checkout(worktreePath) });
  return answer && ({ ...answer, basis: foreignBasis(worktreePath) } as CodeToolResult<T>);
}

const NO_SYMBOLS = 'No symbols found for file ';
const METHOD_NOT_FOUND = -32_601;

/** Our server's answer where roberto-mcp refuses: it has no empty outlines, no hops and no explore. */
export function answerForRefusal<T extends CodeToolName>(
  tool: T,
  error: unknown,
  args: CodeToolArgs<T>,
): CodeToolResult<T> {
  if (!(error instanceof McpQueryError)) throw error;
  const { worktreePath } = error;
  const basis = foreignBasis(worktreePath);
  if (tool === 'get_file_outline' && error.message.startsWith(NO_SYMBOLS)) {
    const { file_path } = args as CodeToolArgs<'get_file_outline'>;
    return { file_path, language: null, symbols: [], basis } as CodeToolResult<'get_file_outline'> as CodeToolResult<T>;
  }
  if (error.details?.rpcCode !== METHOD_NOT_FOUND) throw error;
  if (tool === 'get_hops') return { files: 'unknown', basis } as CodeToolResult<'get_hops'> as CodeToolResult<T>;
  throw new McpQueryError('mcp_query', `This analysis server has no ${tool}.`, { worktreePath, cause: error });
}

/** roberto-mcp does not say how complete an answer is, so the answer counts as incomplete. */
function foreignBasis(worktree: string): Basis {
  return {
    worktree,
    head: '',
    stage: 1,
    complete: false,
    pending: 0,
    skipped: 0,
    dirtyFiles: 0,
    freshAsOf: new Date(0).toISOString(),
    watch: 'off',
    engine: 'foreign',
  };
}

type Translate<T extends CodeToolName> = (value: unknown, asked: Asked<T>) => Promise<Answer<T> | undefined>;

const TRANSLATIONS: { [T in CodeToolName]?: Translate<T> } = {
  // roberto-mcp reads everything anew and answers when it is done.
  index_code: async (value) => {
    const report = indexed.safeParse(value).data;
    return report && { ...report, reused: 0, pending: 0 };
  },
  get_symbol: toSymbols,
  find_symbols: toSymbols,
  get_symbol_references: async (value, { args, checkout }) => {
    const answer = referring.safeParse(value).data;
    if (!answer) return undefined;
    const inside = insideOnce(answer.references, checkout, ({ reference_type }) => reference_type);
    const shown = inside.slice(0, args.limit).map(async ({ location: at, reference_type }) => ({
      location: at,
      reference_type: reference_type as CodeReference['reference_type'],
      confidence: 'lexical' as const,
      line_text: (await checkout.linesOf(at.file))[at.start_line - 1] ?? '',
    }));
    return { references: await Promise.all(shown), total_count: inside.length };
  },
  code_search: async (value, { args, checkout }) => {
    const answer = matching.safeParse(value).data;
    if (!answer) return undefined;
    const shown = answer.results.map(async (hit) => {
      const file_path = checkout.relativePath(hit.file_path);
      if (file_path === undefined) return [];
      const lines = await checkout.linesOf(file_path);
      const line = lineOfSnippet(lines, hit.content_snippet, args.query);
      return [{ ...hit, file_path, line, line_text: line === null ? '' : (lines[line - 1] ?? '') }];
    });
    const results = (await Promise.all(shown)).flat();
    return { results, total_found: results.length };
  },
  get_file_outline: async (value, { args: { file_path }, checkout }) => {
    const entries = typeof value === 'string' ? parseOutlineText(value) : undefined;
    if (!entries) return undefined;
    const lines = await checkout.linesOf(file_path);
    const inOrder = entries.toSorted((a, b) => a.line - b.line || a.column - b.column);
    const symbols = inOrder.map(({ column, ...symbol }) => {
      if (symbol.symbol_type !== 'function') return symbol;
      const source = lines.length > 0 ? sourceAt(lines, { line: symbol.line, column }) : symbol.signature;
      return { ...symbol, ...readDeclaration(source) };
    });
    return { file_path, language: null, symbols };
  },
  get_directory_outline: async (value, { args }) => {
    return typeof value === 'string' ? parseDirectoryText(value, args.directory_path) : undefined;
  },
};

const LARGEST_FILE = 8 * 1024 * 1024;

/** A worktree by its given and its real path. An answer reads each file only once. */
class Checkout {
  readonly #roots: readonly string[];
  readonly #real: string;
  readonly #lines = new Map<string, Promise<readonly string[]>>();

  constructor(worktreePath: string) {
    this.#real = realPath(worktreePath);
    this.#roots = [worktreePath, this.#real];
  }

  relativePath(path: string): string | undefined {
    if (!isAbsolute(path)) return path;
    const root = this.#roots.find((each) => path.startsWith(`${each}/`));
    return root === undefined ? undefined : relative(root, path);
  }

  /** Empty when the file cannot be read. */
  linesOf(filePath: string): Promise<readonly string[]> {
    const read = async () => (await createSafeDir(this.#real).read(filePath, LARGEST_FILE)).toString('utf8');
    const lines =
      this.#lines.get(filePath) ??
      read().then(
        (text) => text.split(/\r?\n/),
        () => [],
      );
    this.#lines.set(filePath, lines);
    return lines;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/** Leaves out places outside and duplicates: after an edit roberto-mcp uses both paths of a file, and lists a use per definition. */
function insideOnce<S extends { location: z.infer<typeof location> }>(
  items: readonly S[],
  checkout: Checkout,
  nameOf: (item: S) => string,
): S[] {
  const places = new Map<string, S>();
  for (const item of items) {
    const file = checkout.relativePath(item.location.file);
    const { start_line, start_column } = item.location;
    const key = `${file}:${start_line}:${start_column}:${nameOf(item)}`;
    if (file !== undefined && !places.has(key)) places.set(key, { ...item, location: { ...item.location, file } });
  }
  return [...places.values()];
}

async function toSymbols(
  value: unknown,
  { checkout }: Pick<Asked<'get_symbol'>, 'checkout'>,
): Promise<Answer<'get_symbol'> | undefined> {
  const answer = found.safeParse(value).data;
  if (!answer) return undefined;
  const inside = insideOnce(answer.symbols, checkout, ({ name, symbol_type }) => `${symbol_type} ${name}`);
  return {
    symbols: inside.map(({ source, namespace = null, ...symbol }) => {
      const { name, location: at, symbol_type } = symbol;
      const id = `${at.file}#${namespace ? `${namespace}.` : ''}${name}:${at.start_line}`;
      const signature = signatureIn(source ?? '', symbol_type) || name;
      return { ...symbol, id, namespace, signature, ...(typeof source === 'string' && { source }) };
    }),
  };
}

function signatureIn(source: string, kind: SymbolType): string {
  const declared = kind === 'function' || kind === 'method' ? readDeclaration(source)?.signature : undefined;
  return declared ?? source.trimStart().split('\n', 1)[0]?.trimEnd() ?? '';
}

/**
 * The line of a snippet, counted from 1. Null unless there is exactly one such place. When no line has all words of the query,
 * roberto-mcp shows the beginning of the file. Then this is the first line with any of them.
 */
function lineOfSnippet(lines: readonly string[], snippet: string, query: string): number | null {
  const wanted = snippet.split('\n');
  const fits = (start: number) => wanted.every((line, index) => lines[start + index] === line);
  const [start, ...others] = lines.flatMap((line, index) => (line === wanted[0] && fits(index) ? [index] : []));
  if (start === undefined || others.length > 0) return null;
  const words = query.toLowerCase().split(/\s+/);
  const lineWith = (text: string) => wanted.findIndex((line) => line.toLowerCase().includes(text));
  const hit = [query.toLowerCase(), ...words].map(lineWith).find((index) => index >= 0) ?? 0;
  return start + hit + 1;
}

const KINDS: Readonly<Record<string, SymbolType>> = {
  Classes: 'class',
  Functions: 'function',
  Constants: 'constant',
  Enums: 'enum',
  Interfaces: 'interface',
  Modules: 'module',
  Imports: 'import',
  Variables: 'variable',
};
const GROUP = new RegExp(`^(${Object.keys(KINDS).join('|')}):$`);
const ENTRY = /^\s*├─ (.*) \((\d+):(\d+)\)(?: (?:pub|priv|prot|int))?\s*$/;

type OutlineEntry = OutlineSymbol & { line: number /** In bytes. */; column: number };

/**
 * The outline of a file. Undefined when the text is not an outline.
 *
 *     Classes:
 *       ├─ Cart (3:0) pub
 *
 *     Functions:
 *       ├─ export function total(cart: Cart): number { (12:7) pub
 *
 * A function is shown by its first line, cut to 77 characters and `...`, everything else by its name. The order is random.
 */
function parseOutlineText(text: string): OutlineEntry[] | undefined {
  const entries: OutlineEntry[] = [];
  let kind: SymbolType | undefined;
  for (const line of text.split('\n')) {
    const [, group] = GROUP.exec(line) ?? [];
    const [, shown, at, column] = ENTRY.exec(line) ?? [];
    if (group !== undefined) kind = KINDS[group];
    else if (kind !== undefined && shown !== undefined) {
      entries.push({ name: shown, symbol_type: kind, line: Number(at), column: Number(column), signature: shown });
    } else if (line.trim() !== '') return undefined;
  }
  return kind === undefined ? undefined : entries;
}

const DIRECTORY = /^Directory: .* \(\d+ files\)$/;
const FILE = /^📁 (.+)$/u;
const MEMBER = /^\s*🏗️? (.+) \((\w+)\)$/u;
const SUMMARY = /^(Summary: .+)$/;

/** File names in the text are relative to the directory. */
function parseDirectoryText(text: string, path: string): Answer<'get_directory_outline'> | undefined {
  const [first = '', ...lines] = text.split('\n');
  if (!DIRECTORY.test(first)) return undefined;
  const directory: Answer<'get_directory_outline'> = { files: [], summary: '' };
  for (const line of lines) {
    const [, file] = FILE.exec(line) ?? [];
    const [, name, group = ''] = MEMBER.exec(line) ?? [];
    const [, summary] = SUMMARY.exec(line) ?? [];
    if (file !== undefined) directory.files.push({ file_path: join(path, file), symbols: [] });
    else if (name !== undefined) directory.files.at(-1)?.symbols.push(member(name, group));
    else if (summary !== undefined) directory.summary = summary;
    else if (line.trim() !== '') return undefined;
  }
  return directory;
}

function member(name: string, group: string): OutlineSymbol {
  const kind = KINDS[`${group.charAt(0).toUpperCase()}${group.slice(1)}`] ?? (group as SymbolType);
  return { name, symbol_type: kind, line: null, signature: name };
}
