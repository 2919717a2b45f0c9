import { isMap, isScalar, isSeq, LineCounter, type Node, parse, parseDocument } from 'yaml';

export interface ConfigProblem {
  file: string;
  line: number | undefined;
  path: string;
  expected: string;
  found: string;
}

export interface ConfigWarning {
  file: string;
  line: number | undefined;
  message: string;
}

export interface YamlFile {
  /** Never undefined: an empty file is an empty object. */
  value: unknown;
  /** Where the value at a path begins; of a path that is not there, its nearest parent. */
  lineOf(path: readonly PropertyKey[]): number | undefined;
}

const MAX_ALIASES = 20;

/** Reads YAML without trusting it: a broken file is one problem, aliases cannot multiply, no key reaches a prototype. */
export function parseYaml(file: string, text: string): YamlFile | ConfigProblem {
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
    return { value, lineOf: (path) => lineOf(document.contents, { path, lines }) };
  } catch {
    return { file, line: undefined, path: '', expected: `at most ${MAX_ALIASES} aliases`, found: 'more' };
  }
}

/** One value; what is no YAML stays text, and the schema says what was expected. */
export function parseValue(text: string): unknown {
  try {
    return parse(text, { schema: 'core', maxAliasCount: 0 });
  } catch {
    return text;
  }
}

export const isProblem = (read: YamlFile | ConfigProblem): read is ConfigProblem => 'expected' in read;

function dropPrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const child of Object.values(value)) dropPrototypes(child);
}

function lineOf(
  root: Node | null,
  { path, lines }: { path: readonly PropertyKey[]; lines: LineCounter },
): number | undefined {
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
