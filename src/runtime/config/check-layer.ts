import { type ConfigLayer, FILE_KEYS, schemaOf } from './app-config.ts';
import { modernise } from './old-spellings.ts';
import { type ConfigProblem, type ConfigWarning, check, describe, type Source } from './settings-file.ts';

export interface Checked {
  layer: ConfigLayer;
  problems: ConfigProblem[];
  warnings: ConfigWarning[];
}

type Path = readonly PropertyKey[];

/**
 * What one file says, key by key: what is unknown is a warning and left out, what is wrong is a problem. A value is kept as
 * it was written, not as the schema fills it in, or the defaults of a later file would cover an earlier one.
 */
export function checkLayer({ file, value, lineOf }: Source): Checked {
  if (!isRaw(value)) {
    const problem = { file, line: undefined, path: '', expected: 'keys with values', found: describe(value) };
    return { layer: {}, problems: [problem], warnings: [] };
  }
  if (Object.keys(value).length === 0) return { layer: {}, problems: [], warnings: [] };
  const { raw, renamed, ignored } = modernise(value);
  const old = (key: string, message: string) => ({ file, line: lineOf([key]), message: `${key} ${message}` });
  const asWritten = (path: Path) => writtenPath(path, renamed);
  const source = { file, value: raw, lineOf, asWritten };
  const { kept, problems, warnings } = check(source, schemaOf(raw), { known: FILE_KEYS });
  const all: ConfigWarning[] = [
    ...[...renamed].map(([key, path]) => old(key, `is now called ${path.join('.')}`)),
    ...ignored.map((key) => old(key, 'is ignored: its new name is there as well')),
    ...warnings.map(({ key: _, ...warning }) => warning),
  ];
  return { layer: kept as ConfigLayer, problems: problems.sort(byLine), warnings: all.sort(byLine) };
}

const byLine = (a: { line: number | undefined }, b: { line: number | undefined }) => (a.line ?? 0) - (b.line ?? 0);

/** The reader looks for the key he wrote. */
function writtenPath(path: Path, renamed: ReadonlyMap<string, readonly string[]>): Path {
  for (const [old, now] of renamed) {
    if (now.every((step, index) => path[index] === step)) return [old, ...path.slice(now.length)];
  }
  return path;
}

function isRaw(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
