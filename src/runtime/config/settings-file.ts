import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMap, isScalar, isSeq, LineCounter, type Node, parse, parseDocument } from 'yaml';
import { ZodArray, ZodObject, ZodRecord, type z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { nearestName } from '../../base/nearest.ts';
import { parseJson } from '../../base/safe-json.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';

/** Reads and writes the files of the user's folder. All mistakes of a file are one error that names their lines. */

export interface ConfigProblem {
  file: string;
  line: number | undefined;
  path: string;
  expected: string;
  found: string;
  /** Instead of both, where a sentence says it better. */
  message?: string;
}

export interface ConfigWarning {
  file: string;
  line: number | undefined;
  message: string;
}

export function describeWarning({ file, line, message }: ConfigWarning): string {
  return `${line === undefined ? file : `${file}:${line}`}: ${message}`;
}

function describeProblem({ file, line, path, expected, found, message }: ConfigProblem): string {
  return describeWarning({
    file,
    line,
    message: message ?? `${path === '' ? '' : `${path}: `}expected ${expected}, found ${found}`,
  });
}

/** One error for all problems, a line each. */
export function configInvalid(problems: readonly ConfigProblem[], code: ErrorCode = 'config_invalid'): ReefError {
  return new ReefError(code, problems.map(describeProblem).join('\n'), { details: { problems } });
}

/** Undefined when there is no such file. A file that exists and cannot be read is an error. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ReefError('config_invalid', `${file} cannot be read`, { cause: error });
  }
}

/** Replaces a file and makes its folder; only its owner can read either. */
export async function writeSettings(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeAtomic(file, text);
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Path = readonly PropertyKey[];

export interface Source {
  file: string;
  /** Never undefined: an empty file is an empty object. */
  value: unknown;
  /** The line where the value at a path begins, or its nearest parent if there is no such path. */
  lineOf(path: Path): number | undefined;
  /** The path as the file has it, where an old spelling was replaced. */
  asWritten?(path: Path): Path;
}

const MAX_ALIASES = 20;

/** Parses YAML or JSON that is not trusted: aliases cannot multiply, and no key reaches a prototype. */
export function parseSource(file: string, text: string): Source | ConfigProblem {
  if (file.endsWith('.json')) return parseJsonSource(file, text);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core' });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const { line, col } = lines.linePos(problem.pos[0]);
    const found = `${problem.message.split('\n')[0]} (column ${col})`;
    return { file, line, path: '', expected: 'YAML', found };
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
    dropPrototypes(value);
    return { file, value, lineOf: (path) => lineOf(document.contents, { path, lines }) };
  } catch {
    return { file, line: undefined, path: '', expected: `at most ${MAX_ALIASES} aliases`, found: 'more' };
  }
}

function parseJsonSource(file: string, text: string): Source | ConfigProblem {
  const parsed = parseJson(text);
  if (parsed.ok) return { file, value: parsed.value, lineOf: () => undefined };
  return { file, line: undefined, path: '', expected: 'JSON', found: parsed.why };
}

/** One value. Text that is not YAML stays text, for the schema to judge. */
export function parseValue(text: string): unknown {
  try {
    return parse(text, { schema: 'core', maxAliasCount: 0 });
  } catch {
    return text;
  }
}

export const isProblem = (read: Source | ConfigProblem): read is ConfigProblem => 'expected' in read;

interface ReadOptions {
  /** Receives a warning for each unknown key, which is left out. Without it an unknown key is an error. */
  warn?: ((warning: ConfigWarning) => void) | undefined;
  /** What a key of this file is called in a warning: `key of an agent`. */
  what?: string;
  known?: readonly string[];
  code?: ErrorCode;
}

/** Undefined when there is no such file. */
export function readBy<T>(file: string, schema: z.ZodType<T>, options?: ReadOptions): T | undefined {
  const text = readIfThere(file);
  return text === undefined ? undefined : parseBy({ file, text }, schema, options);
}

export function parseBy<T>(
  { file, text }: { file: string; text: string },
  schema: z.ZodType<T>,
  options: ReadOptions = {},
): T {
  const source = parseSource(file, text);
  if (isProblem(source)) throw configInvalid([source], options.code);
  return checkedBy(source, schema, options);
}

export function checkedBy<T>(source: Source, schema: z.ZodType<T>, { warn, code, ...unknown }: ReadOptions): T {
  const read = schema.safeParse(source.value);
  if (read.success) return read.data;
  const { kept, problems, warnings } = check(source, schema, unknown);
  const all = [...problems, ...(warn ? [] : warnings.map(asProblem))];
  if (all.length > 0) throw configInvalid(all, code);
  for (const { file, line, message } of warnings) warn?.({ file, line, message });
  return schema.parse(kept);
}

/** An unknown key. */
export interface Stray extends ConfigWarning {
  key: string;
  /** What it may have meant, or all that would be right. */
  nearest: string | undefined;
  known: readonly string[];
}

/** For a file in which nothing may be ignored. */
export function asProblem({ file, line, key, nearest, known }: Stray): ConfigProblem {
  const choice = known.length > 0 && known.length <= 12 ? `; known are ${known.join(', ')}` : '';
  const message = `${key} is not known here${nearest === undefined ? choice : didYouMean(nearest)}`;
  return { file, line, path: key, expected: nearest ?? 'a known key', found: 'another', message };
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : `: did you mean ${nearest}?`;
}

interface Checked {
  /** The values as written, without unknown keys. */
  kept: unknown;
  problems: ConfigProblem[];
  warnings: Stray[];
}

/** An unknown key is a warning, which names the nearest known one, and is left out. A wrong value is a problem. */
export function check(
  { file, value, lineOf, asWritten = (path) => path }: Source,
  schema: z.ZodType,
  { what = 'setting', known = [] }: Pick<ReadOptions, 'what' | 'known'> = {},
): Checked {
  const kept = structuredClone(value);
  const result: Checked = { kept, problems: [], warnings: [] };
  for (const issue of schema.safeParse(kept).error?.issues ?? []) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const path = [...issue.path, key];
        const written = asWritten(path);
        const names = path.length === 1 ? known : keysAt(schema, issue.path);
        const near = nearestName(key, names);
        const nearest = near && [...written.slice(0, -1), near].join('.');
        const name = written.join('.');
        const message = `${name} is not a ${what} and is ignored${didYouMean(nearest)}`;
        result.warnings.push({ file, line: lineOf(written), message, key: name, nearest, known: names });
        remove(kept, path);
      }
      continue;
    }
    const path = asWritten(issue.path);
    const found = describe(valueAt(kept, issue.path), String(path.at(-1)));
    result.problems.push({ file, line: lineOf(path), path: path.join('.'), expected: expectedBy(issue), found });
  }
  return result;
}

/** The keys that a schema knows at a path. */
function keysAt(schema: z.core.$ZodType, path: Path): string[] {
  const at = withinOptional(schema);
  const [step, ...rest] = path;
  if (at instanceof ZodObject) {
    const child = step === undefined ? undefined : at.shape[String(step)];
    return step === undefined ? Object.keys(at.shape) : child ? keysAt(child, rest) : [];
  }
  if (at instanceof ZodArray) return keysAt(at.element, rest);
  return at instanceof ZodRecord ? keysAt(at.valueType, rest) : [];
}

function withinOptional(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType, out } = schema._zod.def as { innerType?: z.core.$ZodType; out?: z.core.$ZodType };
  const inner = innerType ?? out;
  return inner === undefined ? schema : withinOptional(inner);
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

/** Problems are printed and logged, so the text of a possible secret is left out. */
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

function remove(root: unknown, path: Path): void {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (typeof parent === 'object' && parent !== null && last !== undefined) Reflect.deleteProperty(parent, last);
}

function dropPrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const child of Object.values(value)) dropPrototypes(child);
}

function lineOf(root: Node | null, { path, lines }: { path: Path; lines: LineCounter }): number | undefined {
  let node: unknown = root;
  let offset: number | undefined;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (!pair) break;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}
