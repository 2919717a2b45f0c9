import type { Basis, CodeSymbol, CodeToolResult, ExploredSlice, SearchResult } from '../../protocol/code.ts';
import type { FileOutline, Listed, SymbolReference } from '../partitioner/answers.ts';

/** From the richest to the poorest. */
export type LevelName = 'source' | 'signatures' | 'names' | 'count';
interface Level {
  name: LevelName;
  lines: string[];
}

/** An answer at every level of detail it has; the last is always a count in one line. */
export interface Leveled {
  levels: Level[];
  /** `disk`: the text of the file itself. */
  basis: Basis | 'disk';
}

const level = (name: LevelName, lines: string[]): Level => ({ name, lines });
const amount = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

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
  return {
    basis: outline.basis,
    levels: [
      level(
        'signatures',
        entries.map(({ line, shown }) => `${line}: ${shown}`),
      ),
      level(
        'names',
        entries.map(({ line, name }) => `${line}: ${name}`),
      ),
      level('count', [amount(entries.length, 'symbol')]),
    ],
  };
}

export function treeLevels({ files, basis }: CodeToolResult<'get_directory_outline'>): Leveled {
  const symbols = files.reduce((sum, file) => sum + file.symbols.length, 0);
  const place = (line: number | null) => (line === null ? '' : `${line}: `);
  return {
    basis,
    levels: [
      level(
        'signatures',
        files.flatMap((file) => [
          file.file_path,
          ...file.symbols.map(({ line, signature }) => `  ${place(line)}${signature}`),
        ]),
      ),
      level(
        'names',
        files.map(({ file_path, symbols: own }) =>
          [`${file_path}:`, own.map(({ name }) => name).join(', ')].join(' ').trim(),
        ),
      ),
      level('count', [`${amount(symbols, 'symbol')} in ${amount(files.length, 'file')}`]),
    ],
  };
}

/** With source where the answer has it. */
export function definitionLevels({ symbols, basis }: CodeToolResult<'get_symbol'>): Leveled {
  const place = ({ location }: CodeSymbol) => `${location.file}:${location.start_line}`;
  const sources = symbols.flatMap((each) => [
    `${place(each)} ${each.symbol_type}`,
    ...(each.source ?? each.signature).split('\n'),
  ]);
  const hasSource = symbols.some(({ source }) => source !== undefined);
  return {
    basis,
    levels: [
      ...(hasSource ? [level('source', sources)] : []),
      level(
        'signatures',
        symbols.map((each) => `${place(each)} ${each.signature}`),
      ),
      level(
        'names',
        symbols.map((each) => `${place(each)} ${each.namespace === null ? '' : `${each.namespace}.`}${each.name}`),
      ),
      level('count', [amount(symbols.length, 'definition')]),
    ],
  };
}

export function referenceLevels(found: Listed<SymbolReference>): Leveled {
  const byFile = Map.groupBy(found, ({ filePath }) => filePath);
  return {
    basis: found.basis,
    levels: [
      level(
        'source',
        found.map(
          ({ filePath, line, kind, confidence, lineText }) =>
            `${filePath}:${line} ${kind} ${confidence}: ${lineText.trim()}`,
        ),
      ),
      level(
        'signatures',
        found.map(({ filePath, line, kind }) => `${filePath}:${line} ${kind}`),
      ),
      level(
        'names',
        [...byFile].map(([filePath, uses]) => `${filePath} (${uses.length})`),
      ),
      level('count', [`${amount(found.length, 'reference')} in ${amount(byFile.size, 'file')}`]),
    ],
  };
}

export function searchLevels({ results, basis }: CodeToolResult<'code_search'>): Leveled {
  const place = ({ file_path, line }: SearchResult) => (line === null ? file_path : `${file_path}:${line}`);
  return {
    basis,
    levels: [
      level(
        'source',
        results.flatMap((hit) => [place(hit), ...hit.content_snippet.split('\n').map((line) => `  ${line}`)]),
      ),
      level(
        'signatures',
        results.map((hit) => `${place(hit)}: ${hit.line_text.trim()}`),
      ),
      level('names', results.map(place)),
      level('count', [amount(results.length, 'hit')]),
    ],
  };
}

/** The places come in the order of their worth, so that the last of them go before their text does. */
export function exploreLevels({ slices, left_out, basis }: CodeToolResult<'explore_code'>): Leveled {
  const place = ({ file_path, start_line, end_line }: ExploredSlice) => `${file_path}:${start_line}-${end_line}`;
  const withSource = (kept: number) => {
    const left = [...slices.slice(kept).map(place), ...left_out];
    const shown = slices.slice(0, kept).flatMap((each) => [`${place(each)} (${each.why})`, ...each.text.split('\n')]);
    return level('source', [...shown, ...(left.length === 0 ? [] : [`left out: ${left.join(', ')}`])]);
  };
  return {
    basis,
    levels: [
      ...slices.map((_, index) => withSource(slices.length - index)),
      level(
        'signatures',
        slices.map((each) => `${place(each)} ${each.text.split('\n')[0]?.trim() ?? ''}`),
      ),
      level('names', slices.map(place)),
      level('count', [amount(slices.length, 'place')]),
    ],
  };
}

export function mapLevels({ map, basis }: CodeToolResult<'explore_code'>): Leveled {
  const lines = map.split('\n').filter((line) => line.trim() !== '');
  const files = lines.filter((line) => !/^\s/.test(line));
  return {
    basis,
    levels: [level('signatures', lines), level('names', files), level('count', [amount(files.length, 'file')])],
  };
}

export function hopsLevels({ files, basis }: CodeToolResult<'get_hops'>): Leveled {
  if (files === 'unknown') return { basis, levels: [level('count', ['not known yet'])] };
  return {
    basis,
    levels: [
      level(
        'signatures',
        files.map(({ file_path, distance, via }) => `${file_path} (${via}, ${amount(distance, 'hop')})`),
      ),
      level(
        'names',
        files.map(({ file_path }) => file_path),
      ),
      level('count', [amount(files.length, 'file')]),
    ],
  };
}

/** The outline, where the server knows it, stands in when the text does not fit. */
export function fileLevels(
  text: string,
  lines: { from: number; to: number } | undefined,
  bones: Leveled | undefined,
): Leveled {
  const all = text.replace(/\r?\n$/, '').split(/\r?\n/);
  const chosen = lines === undefined ? all : all.slice(lines.from - 1, lines.to);
  const inner = (bones?.levels ?? []).filter(({ name }) => name !== 'count');
  return {
    basis: 'disk',
    levels: [level('source', chosen), ...inner, level('count', [amount(all.length, 'line')])],
  };
}

export type Count = (text: string) => number;

interface Fitting {
  /** The heading, told what became of the answer below it. */
  heading(shrunkTo: LevelName | undefined): string;
  levels: readonly Level[];
  room: number;
  count: Count;
}

/**
 * The richest level that fits as a whole. Where only the count would fit, as many names as possible come before it, with the
 * number of those missing. Never cut within a line; undefined when not even the count fits.
 */
export function fitLevels({ heading, levels: all, room, count }: Fitting): string | undefined {
  const levels = all.filter(({ lines }) => lines.length > 0); // of nothing the count alone says so
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
