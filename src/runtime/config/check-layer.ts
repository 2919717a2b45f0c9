import type { z } from 'zod';
import { type ConfigLayer, FILE_KEYS, schemaOf } from './app-config.ts';
import { nearestKey } from './nearest-key.ts';
import { modernise } from './old-spellings.ts';
import type { ConfigProblem, ConfigWarning } from './yaml-file.ts';

export interface Checked {
  layer: ConfigLayer;
  problems: ConfigProblem[];
  warnings: ConfigWarning[];
}

interface LayerSource {
  file: string;
  value: unknown;
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

type Raw = Record<string, unknown>;
type Path = readonly PropertyKey[];

/**
 * What one file says, key by key: what is unknown is a warning and left out, what is wrong is a problem. A value is kept as
 * it was written, not as the schema fills it in, or the defaults of a later file would cover an earlier one.
 */
export function checkLayer(source: LayerSource): Checked {
  const { file, value, lineOf } = source;
  if (!isRaw(value)) {
    const problem = { file, line: undefined, path: '', expected: 'keys with values', found: describe(value) };
    return { layer: {}, problems: [problem], warnings: [] };
  }
  if (Object.keys(value).length === 0) return { layer: {}, problems: [], warnings: [] };
  const { raw, renamed, ignored } = modernise(value);
  const written = (path: Path) => asWritten(path, renamed);
  const warnings: ConfigWarning[] = [
    ...[...renamed].map(([old, path]) => ({
      file,
      line: lineOf([old]),
      message: `${old} is now called ${path.join('.')}`,
    })),
    ...ignored.map((old) => ({
      file,
      line: lineOf([old]),
      message: `${old} is ignored: its new name is there as well`,
    })),
  ];
  const known = structuredClone(raw);
  const problems: ConfigProblem[] = [];
  for (const issue of issuesOf(known)) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const path = [...issue.path, key];
        warnings.push({ file, line: lineOf(written(path)), message: unknownKey(path) });
        remove(known, path);
      }
      continue;
    }
    const path = written(issue.path);
    const found = describe(valueAt(known, issue.path), String(path.at(-1)));
    problems.push({ file, line: lineOf(path), path: path.join('.'), expected: expectedBy(issue), found });
  }
  return { layer: known as ConfigLayer, problems: problems.sort(byLine), warnings: warnings.sort(byLine) };
}

const byLine = (a: { line: number | undefined }, b: { line: number | undefined }) => (a.line ?? 0) - (b.line ?? 0);

function issuesOf(raw: Raw): z.core.$ZodIssue[] {
  const result = schemaOf(raw).safeParse(raw);
  return result.success ? [] : result.error.issues;
}

/** The reader looks for the key he wrote. */
function asWritten(path: Path, renamed: ReadonlyMap<string, readonly string[]>): Path {
  for (const [old, now] of renamed) {
    if (now.every((step, index) => path[index] === step)) return [old, ...path.slice(now.length)];
  }
  return path;
}

function unknownKey(path: Path): string {
  const key = String(path.at(-1));
  const nearest = path.length === 1 ? nearestKey(key, FILE_KEYS) : undefined;
  return `${path.join('.')} is no setting and is ignored${nearest === undefined ? '' : `: did you mean ${nearest}?`}`;
}

function expectedBy(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected;
  if (issue.code === 'invalid_value') return issue.values.map(String).join(' or ');
  if (issue.code === 'too_small') return `at least ${issue.minimum}`;
  if (issue.code === 'too_big') return `at most ${issue.maximum}`;
  if (issue.code === 'invalid_union') {
    return [...new Set(issue.errors.flatMap(([first]) => (first ? [expectedBy(first)] : [])))].join(' or ');
  }
  return issue.message;
}

const SECRET = /key|token|secret|password/i;

/** Never the text of what may be a secret: problems are printed and logged. */
function describe(value: unknown, key = ''): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'keys with values';
  if (SECRET.test(key)) return `a ${typeof value}`;
  return JSON.stringify(value).slice(0, 60);
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<PropertyKey, unknown> | undefined)?.[step], root);
}

function remove(root: Raw, path: Path): void {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof parent === 'object' && parent !== null && last !== undefined) Reflect.deleteProperty(parent, last);
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
