import type { Basis } from '../../protocol/code.ts';
import type {
  Definition,
  DirectoryOutline,
  Exploration,
  FileOutline,
  Hops,
  Listed,
  SearchHit,
  SymbolReference,
} from '../partitioner/answers.ts';

/** From the richest to the poorest (C-101). */
export type LevelName = 'source' | 'signatures' | 'names' | 'count';
export interface Level {
  name: LevelName;
  lines: string[];
}

/** An answer at every level of detail it has; the last is always a count in one line. */
export interface Leveled {
  levels: Level[];
  /** `disk`: the text of the file itself. Undefined: the server does not tell. */
  basis: Basis | 'disk' | undefined;
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

export function treeLevels({ files, basis }: DirectoryOutline): Leveled {
  const symbols = files.reduce((sum, file) => sum + file.symbols.length, 0);
  const place = (line: number | null) => (line === null ? '' : `${line}: `);
  return {
    basis,
    levels: [
      level(
        'signatures',
        files.flatMap((file) => [
          file.filePath,
          ...file.symbols.map(({ line, signature }) => `  ${place(line)}${signature}`),
        ]),
      ),
      level(
        'names',
        files.map(({ filePath, symbols: own }) =>
          [`${filePath}:`, own.map(({ name }) => name).join(', ')].join(' ').trim(),
        ),
      ),
      level('count', [`${amount(symbols, 'symbol')} in ${amount(files.length, 'file')}`]),
    ],
  };
}

/** With source where the answer has it. */
export function definitionLevels(found: Listed<Definition>): Leveled {
  const place = ({ filePath, line }: Definition) => `${filePath}:${line}`;
  const sources = found.flatMap((each) => [
    `${place(each)} ${each.kind}`,
    ...(each.source ?? each.signature).split('\n'),
  ]);
  const hasSource = found.some(({ source }) => source !== undefined);
  return {
    basis: found.basis,
    levels: [
      ...(hasSource ? [level('source', sources)] : []),
      level(
        'signatures',
        found.map((each) => `${place(each)} ${each.signature}`),
      ),
      level(
        'names',
        found.map((each) => `${place(each)} ${each.container === null ? '' : `${each.container}.`}${each.name}`),
      ),
      level('count', [amount(found.length, 'definition')]),
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

export function searchLevels(found: Listed<SearchHit>): Leveled {
  const place = ({ filePath, line }: SearchHit) => (line === null ? filePath : `${filePath}:${line}`);
  return {
    basis: found.basis,
    levels: [
      level(
        'source',
        found.flatMap((hit) => [place(hit), ...hit.snippet.split('\n').map((line) => `  ${line}`)]),
      ),
      level(
        'signatures',
        found.map((hit) => `${place(hit)}: ${hit.lineText.trim()}`),
      ),
      level('names', found.map(place)),
      level('count', [amount(found.length, 'hit')]),
    ],
  };
}

/** The places come in the order of their worth, so that the last of them go before their text does. */
export function exploreLevels({ slices, leftOut, basis }: Exploration): Leveled {
  const place = ({ filePath, startLine, endLine }: Exploration['slices'][number]) =>
    `${filePath}:${startLine}-${endLine}`;
  const withSource = (kept: number) => {
    const left = [...slices.slice(kept).map(place), ...leftOut];
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

export function mapLevels({ map, basis }: Exploration): Leveled {
  const lines = map.split('\n').filter((line) => line.trim() !== '');
  const files = lines.filter((line) => !/^\s/.test(line));
  return {
    basis,
    levels: [level('signatures', lines), level('names', files), level('count', [amount(files.length, 'file')])],
  };
}

export function hopsLevels({ files, basis }: Hops): Leveled {
  if (files === 'unknown') return { basis, levels: [level('count', ['not known yet'])] };
  return {
    basis,
    levels: [
      level(
        'signatures',
        files.map(({ filePath, distance, via }) => `${filePath} (${via}, ${amount(distance, 'hop')})`),
      ),
      level(
        'names',
        files.map(({ filePath }) => filePath),
      ),
      level('count', [amount(files.length, 'file')]),
    ],
  };
}

/** Its bones, where the server knows them, stand in when the text does not fit. */
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
