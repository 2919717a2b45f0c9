import type { CodeToolArgs, CodeToolResult, OutlineGroup, OutlineSymbol, SymbolType } from '../../../protocol/code.ts';
import type { Definition } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { knownDefinitions, within } from './definitions.ts';
import { fingerprint, fitting, type Pager, type Whole } from './paging.ts';
import { fileNotFound, pathInside } from './paths.ts';

const DEPTH = 4;
const PARSE_MS = 1_000;
const PAGE_FILES = 2_000;
/** A page ends between items: a large file is several. */
const MOST_OF_A_FILE = 50;

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

/** A question about one file: it alone is looked at, and parsed now if need be. */
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
  const isRead = structure !== undefined && !('skipped' in structure);
  const all = isRead ? structure.facts.definitions.map(toOutline) : [];
  const symbols = fitting(all, lineOf);
  const isWhole = isRead && structure.status === 'ok' && symbols.length === all.length;
  return {
    file_path: path,
    language: language ?? null,
    symbols,
    basis: await index.basis({
      stage: isRead && language !== 'swift' ? 2 : 1,
      // A text of no language has no symbols, and that is all there is to say of it.
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
  paths: readonly string[];
  /** What defines something, and how much in all. */
  files: number;
  symbols: number;
  pending: number;
  skipped: number;
  partial: number;
}

export async function directoryOutline(
  { index, pager }: { index: CodeIndex; pager: Pager },
  args: CodeToolArgs<'get_directory_outline'>,
  parseMs = PARSE_MS,
): Promise<CodeToolResult<'get_directory_outline'>> {
  const folder = pathInside(index.tree.checkout.toplevel, args.directory_path);
  const view = await index.view();
  const kept =
    args.cursor === undefined
      ? await beginDirectory({ index, pager, view, parseMs }, folder, args)
      : pager.recall<FileSymbols>(args.cursor, (whole) => fingerprint(view, (whole as WholeOutline).paths));
  const { pending, skipped, partial, paths, files, symbols } = kept.whole as WholeOutline;
  const { items, nextCursor } = pager.page(kept, PAGE_FILES);
  return {
    files: joined(items),
    summary: `${files} of ${paths.length} files define ${symbols} symbols`,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    basis: await index.basis(
      { stage: pending > 0 ? 1 : 2, complete: pending + skipped + partial === 0, pending, skipped: skipped + partial },
      view,
    ),
  };
}

function joined(items: readonly FileSymbols[]): FileSymbols[] {
  const files = new Map<string, FileSymbols>();
  for (const { file_path, symbols } of items) {
    files.set(file_path, { file_path, symbols: [...(files.get(file_path)?.symbols ?? []), ...symbols] });
  }
  return [...files.values()];
}

interface Beginning {
  index: CodeIndex;
  pager: Pager;
  view: View;
  parseMs: number;
}

async function beginDirectory(
  { index, pager, view, parseMs }: Beginning,
  folder: string,
  args: CodeToolArgs<'get_directory_outline'>,
) {
  const depth = args.depth ?? DEPTH;
  const prefix = folder === '' ? '' : `${folder}/`;
  const isInside = (path: string) => path.startsWith(prefix) && path.slice(prefix.length).split('/').length <= depth;
  const paths = view.paths.filter(isInside);
  if (paths.length === 0 && folder !== '') throw fileNotFound(folder, view);
  const wanted = new Set((args.includes ?? (Object.keys(GROUPS) as OutlineGroup[])).flatMap((group) => GROUPS[group]));
  const end = performance.now() + parseMs;
  const counts = { pending: 0, skipped: 0, partial: 0 };
  const parts: { file: TreeFile; first: number }[] = [];
  const defined = { files: 0, symbols: 0 };
  const symbolsOf = (definitions: readonly Definition[]) => definitions.filter(({ kind }) => wanted.has(kind));
  for (const path of paths) {
    const file = view.files.get(path) as TreeFile;
    const { length } = symbolsOf(await definitionsIn(index, file, { counts, end }));
    defined.files += Math.min(length, 1);
    defined.symbols += length;
    for (let first = 0; first < length; first += MOST_OF_A_FILE) parts.push({ file, first });
  }
  const items = function* (from: number, to: number): Generator<FileSymbols> {
    for (const { file, first } of parts.slice(from, to)) {
      const symbols = symbolsOf(knownDefinitions(index, file)).slice(first, first + MOST_OF_A_FILE);
      yield { file_path: file.path, symbols: symbols.map(toOutline) };
    }
  };
  const whole: WholeOutline = {
    count: parts.length,
    items,
    fingerprint: fingerprint(view, paths),
    paths,
    ...defined,
    ...counts,
  };
  return { id: pager.keep(whole), at: 0, whole };
}

interface Tally {
  counts: { pending: number; skipped: number; partial: number };
  end: number;
}

async function definitionsIn(index: CodeIndex, file: TreeFile, { counts, end }: Tally): Promise<readonly Definition[]> {
  const language = index.languages.of(file);
  if (language === undefined) return [];
  const known = index.structures.known(file, language);
  const structure =
    known ?? (performance.now() < end ? await within(index.structures.of(file, language), end) : undefined);
  if (!structure) counts.pending += 1;
  else if ('skipped' in structure) counts.skipped += 1;
  else if (structure.status === 'partial') counts.partial += 1;
  return structure && !('skipped' in structure) ? structure.facts.definitions : [];
}
