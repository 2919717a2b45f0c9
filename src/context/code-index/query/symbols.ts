import type { CodeSymbol, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import { splitLines } from '../words/hits.ts';
import { definedHere, definitionsOf, type Found, toSymbol } from './definitions.ts';
import type { NameList } from './name-list.ts';
import { fitting } from './paging.ts';
import { pathInside } from './paths.ts';

const MAX_SOURCE_CHARACTERS = 24_000;
const FOUND = 10;

export async function getSymbol(
  index: CodeIndex,
  args: CodeToolArgs<'get_symbol'>,
  parseMs?: number,
): Promise<CodeToolResult<'get_symbol'>> {
  const path = args.file_path === undefined ? undefined : pathInside(index.tree.checkout.toplevel, args.file_path);
  const view = await index.view();
  const { found, pending, skipped, stage } = await definitionsOf(index, view, args.name, parseMs);
  const here = path === undefined ? found : found.filter(({ file }) => file.path === path);
  let room = MAX_SOURCE_CHARACTERS;
  const symbols = here.map((each): CodeSymbol => {
    const source = args.include_source === true && room > 0 ? sourceOf(index, each)?.slice(0, room) : undefined;
    room -= source?.length ?? 0;
    return source === undefined ? toSymbol(each) : { ...toSymbol(each), source };
  });
  const shown = fitting(symbols);
  // There is no cursor. An answer that leaves something out is not complete; the rest is asked for by file.
  const complete = pending === 0 && skipped === 0 && shown.length === symbols.length;
  return { symbols: shown, basis: await index.basis({ stage, complete, pending, skipped }, view) };
}

/** The text of a definition, read from the worktree's own file: facts hold no text. */
function sourceOf(index: CodeIndex, { file, definition }: Found): string | undefined {
  const read = index.tree.read(file.path);
  const lines = read && splitLines(read.bytes);
  return lines?.slice(definition.line - 1, definition.endLine).join('\n');
}

export async function findSymbols(
  { index, names }: { index: CodeIndex; names: NameList },
  args: CodeToolArgs<'find_symbols'>,
): Promise<CodeToolResult<'find_symbols'>> {
  const view = await index.view();
  const limit = args.limit ?? FOUND;
  const symbols: CodeSymbol[] = [];
  for (const name of names.matching(args.query)) {
    const found = definedHere(index, view, name).filter(
      ({ definition }) => args.symbol_type === undefined || definition.kind === args.symbol_type,
    );
    symbols.push(...found.slice(0, limit - symbols.length).map(toSymbol));
    if (symbols.length >= limit) break;
  }
  const grounds = { pending: index.pending, skipped: index.unparsable(view) };
  return { symbols: fitting(symbols), basis: await index.basis(grounds, view) };
}
