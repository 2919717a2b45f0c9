import type { CodeSymbol, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import { splitLines } from '../words/hits.ts';
import { definedHere, definitionsOf, type Found, toSymbol } from './definitions.ts';
import type { NameList } from './name-list.ts';
import { fitting } from './paging.ts';
import { pathInside } from './paths.ts';
import { nameIn, notOwned, ownedBy, readName, type WrittenName } from './written-name.ts';

const MAX_SOURCE_CHARACTERS = 24_000;
const FOUND = 10;
const SIMILAR = 5;

interface SymbolTools {
  index: CodeIndex;
  names: NameList;
}

export async function getSymbol(
  { index, names }: SymbolTools,
  args: CodeToolArgs<'get_symbol'>,
  parseMs?: number,
): Promise<CodeToolResult<'get_symbol'>> {
  const path = args.file_path === undefined ? undefined : pathInside(index.tree.checkout.toplevel, args.file_path);
  const view = await index.view();
  const written = await nameIn(index, view, args.name);
  const { found, pending, skipped, stage } = await definitionsOf(index, view, written.name, parseMs);
  const owned = ownedBy(found, written.owners);
  const meant = owned.length > 0 ? owned : found;
  const here = path === undefined ? meant : meant.filter(({ file }) => file.path === path);
  let room = MAX_SOURCE_CHARACTERS;
  const symbols = here.map((each): CodeSymbol => {
    const source = args.include_source === true && room > 0 ? sourceOf(index, each)?.slice(0, room) : undefined;
    room -= source?.length ?? 0;
    return source === undefined ? toSymbol(each) : { ...toSymbol(each), source };
  });
  const shown = fitting(symbols);
  // There is no cursor. An answer that leaves something out is not complete; the rest is asked for by file.
  const complete = pending === 0 && skipped === 0 && shown.length === symbols.length;
  const isCut =
    shown.length < symbols.length &&
    `${shown.length} of ${symbols.length} are shown: choose a file with \`file_path\`.`;
  const isWider = owned.length === 0 && notOwned(written);
  const note = found.length === 0 ? similarTo(written, { index, names }, view) : isWider || isCut;
  const basis = await index.basis({ stage, complete, pending, skipped }, view);
  return { symbols: shown, ...(note && { note }), basis };
}

/** The nearest names that something here has. */
function similarTo({ name }: WrittenName, { index, names }: SymbolTools, view: View): string | undefined {
  const near: string[] = [];
  for (const each of names.matching(name)) {
    if (near.length === SIMILAR) break;
    if (definedHere(index, view, each).length > 0) near.push(each);
  }
  return near.length === 0 ? undefined : `Nothing is called ${name}. Similar: ${near.join(', ')}.`;
}

/** The text of a definition, read from the worktree's own file: facts hold no text. */
function sourceOf(index: CodeIndex, { file, definition }: Found): string | undefined {
  const read = index.tree.read(file.path);
  const lines = read && splitLines(read.bytes);
  return lines?.slice(definition.line - 1, definition.endLine).join('\n');
}

export async function findSymbols(
  { index, names }: SymbolTools,
  args: CodeToolArgs<'find_symbols'>,
): Promise<CodeToolResult<'find_symbols'>> {
  const view = await index.view();
  const asked = args.query.replace(/\s+/g, '');
  const written = readName(asked) ?? { name: asked, owners: [] };
  const find = ({ name, owners }: WrittenName) => {
    const symbols: CodeSymbol[] = [];
    const limit = args.limit ?? FOUND;
    for (const each of names.matching(name)) {
      const found = ownedBy(definedHere(index, view, each), owners).filter(
        ({ definition }) => args.symbol_type === undefined || definition.kind === args.symbol_type,
      );
      symbols.push(...found.slice(0, limit - symbols.length).map(toSymbol));
      if (symbols.length >= limit) break;
    }
    return symbols;
  };
  const literal = find({ name: asked, owners: [] });
  const owned = literal.length > 0 ? literal : find(written);
  const symbols = owned.length > 0 ? owned : find({ ...written, owners: [] });
  const isWider = owned.length === 0 && symbols.length > 0 && written.owners.length > 0;
  const isCut = symbols.length === (args.limit ?? FOUND);
  const note = isWider ? notOwned(written) : isCut ? 'There may be more: raise `limit`, up to 50.' : undefined;
  const grounds = { pending: index.pending, skipped: index.unparsable(view) };
  return {
    symbols: fitting(symbols),
    ...(note !== undefined && { note }),
    basis: await index.basis(grounds, view),
  };
}
