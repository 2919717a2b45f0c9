import type { Basis, CodeSymbol, CodeToolResult, ExploredSlice, SearchResult } from '../../protocol/code.ts';
import type { FileOutline, Listed, SymbolReference } from '../partitioner/answers.ts';
import type { Slice } from './slice.ts';

export type LevelName = 'source' | 'signatures' | 'names' | 'count';
interface Level {
  name: LevelName;
  lines: string[];
}

/** An answer at every level of detail it has. The last level is always a count in one line. */
export interface Leveled {
  levels: Level[];
  /** `disk`: the text of the file itself. */
  basis: Basis | 'disk';
}

/** The levels in the order they are written, from the richest to the poorest. */
function levelsOf(lines: Partial<Record<LevelName, string[]>>): Level[] {
  return Object.entries(lines).map(([name, each]) => ({ name: name as LevelName, lines: each }));
}

function amount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function outlineLevels(outline: FileOutline): Leveled {
  const entries = [
    ...outline.classes.map(({ name, line }) => ({ name, line, shown: `class ${name}` })),
    ...outline.types.map(({ name, kind, line }) => ({ name, line, shown: `${kind} ${name}` })),
    ...outline.constants.map(({ name, line }) => ({ name, line, shown: `const ${name}` })),
    ...outline.functions.map(({ name, signature, line }) => ({ name, line, shown: signature })),
    ...outline.methods.map(({ name, signature, line, container }) => ({
      name: container === undefined ? name : `${container}.${name}`,
      line,
      shown: `  ${signature}`,
    })),
  ].sort((a, b) => a.line - b.line || (a.name < b.name ? -1 : 1));
  const levels = levelsOf({
    signatures: entries.map(({ line, shown }) => `${line}: ${shown}`),
    names: entries.map(({ line, name }) => `${line}: ${name}`),
    count: [amount(entries.length, 'symbol')],
  });
  return { basis: outline.basis, levels };
}

export function treeLevels({ files, basis }: CodeToolResult<'get_directory_outline'>): Leveled {
  const all = files.flatMap(({ symbols }) => symbols);
  const place = (line: number | null) => (line === null ? '' : `${line}: `);
  const levels = levelsOf({
    signatures: files.flatMap(({ file_path, symbols }) => [
      file_path,
      ...symbols.map(({ line, signature }) => `  ${place(line)}${signature}`),
    ]),
    names: files.map(({ file_path, symbols }) => `${file_path}: ${symbols.map(({ name }) => name).join(', ')}`.trim()),
    count: [`${amount(all.length, 'symbol')} in ${amount(files.length, 'file')}`],
  });
  return { basis, levels };
}

export function definitionLevels({ symbols, basis }: CodeToolResult<'get_symbol'>): Leveled {
  const place = ({ location }: CodeSymbol) => `${location.file}:${location.start_line}`;
  const withSource = (each: CodeSymbol) => [
    `${place(each)} ${each.symbol_type}`,
    ...(each.source ?? each.signature).split('\n'),
  ];
  const hasSource = symbols.some(({ source }) => source !== undefined);
  const levels = levelsOf({
    ...(hasSource && { source: symbols.flatMap(withSource) }),
    signatures: symbols.map((each) => `${place(each)} ${each.signature}`),
    names: symbols.map((each) => `${place(each)} ${each.namespace === null ? '' : `${each.namespace}.`}${each.name}`),
    count: [amount(symbols.length, 'definition')],
  });
  return { basis, levels };
}

export function referenceLevels(found: Listed<SymbolReference>): Leveled {
  const byFile = Map.groupBy(found, ({ filePath }) => filePath);
  const levels = levelsOf({
    source: found.map((use) => `${use.filePath}:${use.line} ${use.kind} ${use.confidence}: ${use.lineText.trim()}`),
    signatures: found.map(({ filePath, line, kind }) => `${filePath}:${line} ${kind}`),
    names: [...byFile].map(([filePath, uses]) => `${filePath} (${uses.length})`),
    count: [`${amount(found.length, 'reference')} in ${amount(byFile.size, 'file')}`],
  });
  return { basis: found.basis, levels };
}

export function searchLevels({ results, basis }: CodeToolResult<'code_search'>): Leveled {
  const place = ({ file_path, line }: SearchResult) => (line === null ? file_path : `${file_path}:${line}`);
  const levels = levelsOf({
    source: results.flatMap((hit) => [place(hit), ...hit.content_snippet.split('\n').map((line) => `  ${line}`)]),
    signatures: results.map((hit) => `${place(hit)}: ${hit.line_text.trim()}`),
    names: results.map(place),
    count: [amount(results.length, 'hit')],
  });
  return { basis, levels };
}

/** The places come in the order of their worth, so the last of them are dropped before the text of the others. */
export function exploreLevels({ slices, left_out, basis }: CodeToolResult<'explore_code'>): Leveled {
  const place = ({ file_path, start_line, end_line }: ExploredSlice) => `${file_path}:${start_line}-${end_line}`;
  const withSource = (kept: number): Level => {
    const left = [...slices.slice(kept).map(place), ...left_out];
    const shown = slices.slice(0, kept).flatMap((each) => [`${place(each)} (${each.why})`, ...each.text.split('\n')]);
    return { name: 'source', lines: [...shown, ...(left.length === 0 ? [] : [`left out: ${left.join(', ')}`])] };
  };
  const shorter = levelsOf({
    signatures: slices.map((each) => `${place(each)} ${each.text.split('\n')[0]?.trim() ?? ''}`),
    names: slices.map(place),
    count: [amount(slices.length, 'place')],
  });
  return { basis, levels: [...slices.map((_, index) => withSource(slices.length - index)), ...shorter] };
}

export function mapLevels({ map, basis }: CodeToolResult<'explore_code'>): Leveled {
  const signatures = map.split('\n').filter((line) => line.trim() !== '');
  const names = signatures.filter((line) => !/^\s/.test(line));
  return { basis, levels: levelsOf({ signatures, names, count: [amount(names.length, 'file')] }) };
}

export function hopsLevels({ files, basis }: CodeToolResult<'get_hops'>): Leveled {
  if (files === 'unknown') return { basis, levels: levelsOf({ count: ['not known yet'] }) };
  const levels = levelsOf({
    signatures: files.map(({ file_path, distance, via }) => `${file_path} (${via}, ${amount(distance, 'hop')})`),
    names: files.map(({ file_path }) => file_path),
    count: [amount(files.length, 'file')],
  });
  return { basis, levels };
}

/** The outline, if the server knows it, replaces a text that does not fit. */
export function fileLevels(text: string, lines: Slice['lines'], outline: Leveled | undefined): Leveled {
  const all = text.replace(/\r?\n$/, '').split(/\r?\n/);
  const source = lines === undefined ? all : all.slice(lines.from - 1, lines.to);
  const inner = (outline?.levels ?? []).filter(({ name }) => name !== 'count');
  const count = levelsOf({ count: [amount(all.length, 'line')] });
  return { basis: 'disk', levels: [...levelsOf({ source }), ...inner, ...count] };
}

export type Count = (text: string) => number;

interface Fitting {
  /** `shrunkTo` is set when the answer below it is not the richest. */
  heading(shrunkTo: LevelName | undefined): string;
  levels: readonly Level[];
  room: number;
  count: Count;
}

/**
 * The richest level that fits as a whole. If only the count fits, as many names as possible are shown instead, with the number
 * of missing ones. Lines are never cut. Undefined when not even the count fits.
 */
export function fitLevels({ heading, levels: all, room, count }: Fitting): string | undefined {
  const levels = all.filter(({ lines }) => lines.length > 0); // for an empty answer the count is enough
  const [richest] = levels;
  const write = ({ name, lines }: Level) => [heading(name === richest?.name ? undefined : name), ...lines].join('\n');
  const fits = (text: string) => count(text) <= room;
  for (const each of levels) {
    const text = write(each);
    if (each.name === 'count') return cutNames(levels, write, fits) ?? (fits(text) ? text : undefined);
    if (fits(text)) return text;
  }
  return undefined;
}

function cutNames(
  levels: readonly Level[],
  write: (level: Level) => string,
  fits: (text: string) => boolean,
): string | undefined {
  const names = levels.find(({ name }) => name === 'names');
  if (names === undefined || names.lines.length < 2) return undefined;
  const { name, lines } = names;
  const first = (kept: number) => write({ name, lines: [...lines.slice(0, kept), `… ${lines.length - kept} more`] });
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(first(middle))) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? undefined : first(low);
}
