import type { CodeToolArgs, CodeToolResult, OutlineGroup, OutlineSymbol, SymbolType } from '../../../protocol/code.ts';
import type { Definition } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { FactStatus } from '../store/fact-table.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { knownDefinitions, parseMissing } from './definitions.ts';
import { fitting, type Pager, type Whole } from './paging.ts';
import { fileNotFound, pathInside } from './paths.ts';

const DEPTH = 4;
const PARSE_MS = 1_000;
const PAGE_FILES = 2_000;
/** A page ends between items, so a large file is split into several. */
const MOST_OF_A_FILE = 50;

/** What a reader must know of a file that was not read, or not wholly. */
const WHY_NONE: Partial<Record<FactStatus, string>> = {
  partial: 'Some of it does not parse: what is defined there may be missing.',
  binary: 'It is binary.',
  too_large: 'It is too large to be parsed.',
  long_line: 'It has a line that is too long, as generated code has: it is not parsed.',
  timeout: 'It took too long to parse.',
  crash: 'The parser fails on it.',
};

function noteOf(status: FactStatus | undefined, { shown, all }: { shown: number; all: number }): string | undefined {
  if (shown < all) return `${shown} of ${all} are shown.`;
  return status && WHY_NONE[status];
}

const GROUPS: Record<OutlineGroup, readonly SymbolType[]> = {
  classes: ['class', 'interface', 'type'],
  structs: ['struct'],
  enums: ['enum'],
  functions: ['function', 'macro'],
  methods: ['method'],
  constants: ['constant'],
  variables: ['variable'],
  modules: ['module'],
};

/** Looks at one file alone, and parses it now if need be. */
export async function fileOutline(
  index: CodeIndex,
  args: CodeToolArgs<'get_file_outline'>,
): Promise<CodeToolResult<'get_file_outline'>> {
  const path = pathInside(index.tree.checkout.toplevel, args.file_path);
  const file = path === '' ? undefined : index.tree.refresh(path);
  if (!file) throw fileNotFound(path, await index.view());
  index.start();
  const language = index.languages.of(file);
  const structure = language && (await index.structures.of(file, language));
  const all = structure?.facts?.definitions.map(toOutline) ?? [];
  const symbols = fitting(all, lineOf);
  const isRead = structure?.facts !== undefined;
  const isWhole = structure?.status === 'ok' && symbols.length === all.length;
  const note = noteOf(structure?.status ?? index.coverage.words(file.oid), { shown: symbols.length, all: all.length });
  return {
    file_path: path,
    language: language ?? null,
    symbols,
    ...(note !== undefined && { note }),
    basis: await index.basis({
      stage: isRead && language !== 'swift' ? 2 : 1,
      // A text of no language has no symbols, so the answer is complete.
      complete: language === undefined || isWhole,
      pending: language !== undefined && structure === undefined ? 1 : 0,
      skipped: structure && !isRead ? 1 : 0,
    }),
  };
}

/** As it is shown: one line with its number, kind and signature. */
function lineOf({ line, symbol_type, signature, name, container = '' }: OutlineSymbol): string {
  const indent = '  '.repeat(1 + container.split('.').length);
  return `\n${indent}${line} ${symbol_type} ${signature || name}`;
}

function toOutline({ name, kind, line, endLine, signature, container }: Definition): OutlineSymbol {
  const symbol = { name, symbol_type: kind, line, end_line: endLine, signature };
  return container === undefined ? symbol : { ...symbol, container };
}

type FileSymbols = CodeToolResult<'get_directory_outline'>['files'][number];

interface WholeOutline extends Whole<FileSymbols> {
  /** How many files define something, and how many symbols in all. */
  files: number;
  symbols: number;
  skipped: number;
}

export async function directoryOutline(
  { index, pager }: { index: CodeIndex; pager: Pager },
  args: CodeToolArgs<'get_directory_outline'>,
  parseMs = PARSE_MS,
): Promise<CodeToolResult<'get_directory_outline'>> {
  const folder = pathInside(index.tree.checkout.toplevel, args.directory_path);
  const view = await index.view();
  const { cursor, depth, includes } = args;
  const make = () => wholeOutline(index, view, { ...args, folder, parseMs });
  const place = await pager.place({ question: [folder, depth, includes], cursor, make }, view);
  const { pending, skipped, paths, files, symbols } = place.whole;
  const { items, nextCursor } = pager.page(place, PAGE_FILES);
  return {
    files: joined(items),
    summary: `${files} of ${paths.length} files define ${symbols} symbols`,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    basis: await index.basis({ pending, skipped }, view),
  };
}

function joined(items: readonly FileSymbols[]): FileSymbols[] {
  const files = new Map<string, FileSymbols>();
  for (const { file_path, symbols } of items) {
    files.set(file_path, { file_path, symbols: [...(files.get(file_path)?.symbols ?? []), ...symbols] });
  }
  return [...files.values()];
}

interface OutlineOptions extends Pick<CodeToolArgs<'get_directory_outline'>, 'depth' | 'includes'> {
  folder: string;
  parseMs: number;
}

async function wholeOutline(index: CodeIndex, view: View, options: OutlineOptions): Promise<WholeOutline> {
  const { folder, depth = DEPTH, includes = Object.keys(GROUPS) as OutlineGroup[], parseMs } = options;
  const prefix = folder === '' ? '' : `${folder}/`;
  const isInside = (path: string) => path.startsWith(prefix) && path.slice(prefix.length).split('/').length <= depth;
  const paths = view.paths.filter(isInside);
  if (paths.length === 0 && folder !== '') throw fileNotFound(folder, view);
  const wanted = new Set(includes.flatMap((group) => GROUPS[group]));
  const symbolsOf = (file: TreeFile) => knownDefinitions(index, file).filter(({ kind }) => wanted.has(kind));
  const listed = paths.map((path) => view.files.get(path) as TreeFile);
  const { pending, skipped, partial } = await parseMissing(index, listed, parseMs);
  const parts: { file: TreeFile; first: number }[] = [];
  let [files, symbols] = [0, 0];
  for (const file of listed) {
    const { length } = symbolsOf(file);
    files += Math.min(length, 1);
    symbols += length;
    for (let first = 0; first < length; first += MOST_OF_A_FILE) parts.push({ file, first });
  }
  const items = function* (from: number, to: number): Generator<FileSymbols> {
    for (const { file, first } of parts.slice(from, to)) {
      const shown = symbolsOf(file).slice(first, first + MOST_OF_A_FILE);
      yield { file_path: file.path, symbols: shown.map(toOutline) };
    }
  };
  return { count: parts.length, items, paths, files, symbols, pending, skipped: skipped + partial };
}
