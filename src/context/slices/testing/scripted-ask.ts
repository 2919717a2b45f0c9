import type { Basis } from '../../../protocol/code.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { type Definition, type Exploration, type FileOutline, listed } from '../../partitioner/answers.ts';
import type { SliceAsk } from '../slice-ask.ts';

export const COMPLETE: Basis = {
  worktree: '/secret/place',
  head: 'f'.repeat(40),
  stage: 2,
  complete: true,
  pending: 0,
  skipped: 0,
  dirtyFiles: 0,
  freshAsOf: '2026-01-01T00:00:00.000Z',
  watch: 'on',
  engine: 'reef',
};

const path = (index: number) => `src/f${index}.ts`;

function definition(index: number, withSource: boolean): Definition {
  const signature = `function name${index}(a: number): number`;
  const source = `${signature} {\n  return a * ${index};\n}`;
  return {
    name: `name${index}`,
    kind: 'function',
    filePath: path(index),
    line: index,
    column: 0,
    endLine: index + 2,
    container: index % 2 === 0 ? 'Box' : null,
    visibility: 'public',
    signature,
    ...(withSource && { source }),
  };
}

function outline(items: readonly number[]): FileOutline {
  return {
    functions: items.map((line) => ({
      name: `name${line}`,
      signature: `function name${line}(a: number)`,
      line: line * 2,
    })),
    classes: [{ name: 'Box', line: 1 }],
    methods: [{ name: 'open', signature: 'open(): void', line: 3, container: 'Box' }],
    types: [{ name: 'Lid', kind: 'interface', line: 5 }],
    constants: [{ name: 'MOST', line: 7 }],
  };
}

function exploration(items: readonly number[]): Exploration {
  const slices = items.map((index) => ({
    filePath: path(index),
    startLine: index,
    endLine: index + 1,
    why: 'names it',
    text: `function name${index}() {\n}`,
  }));
  const map = items.map((index) => `${path(index)}\n  name${index}`).join('\n');
  return { slices, map, tokens: 10, leftOut: ['src/z.ts'] };
}

const use = (name: string, line: number) => ({
  filePath: path(line % 5),
  line,
  column: 2,
  kind: 'Call',
  confidence: 'exact',
  lineText: `    ${name}(${line});`,
});
const hit = (query: string, line: number) => ({
  filePath: path(line),
  line,
  lineText: `  ${query}`,
  snippet: `before\n  ${query}\nafter`,
  language: null,
  score: 1,
});
const branch = (index: number) => ({
  filePath: path(index),
  symbols: [{ name: `name${index}`, kind: 'function', line: index, signature: `function name${index}()` }],
});

/** Answers of the size asked for, and what was asked; there is no `gone.ts`. */
export function scriptedAsk({ size = 3, basis = COMPLETE }: { size?: number; basis?: Basis | undefined } = {}) {
  const asked: unknown[][] = [];
  const items = Array.from({ length: size }, (_, index) => index + 1);
  const known = basis && { basis };
  const list = <T>(of: (item: number) => T) => listed(items.map(of), basis);
  const note = async <T>(question: unknown[], answer: T): Promise<T> => {
    if (question[1] === 'gone.ts') throw new ReefError('file_not_found', 'There is no gone.ts.');
    asked.push(question);
    return answer;
  };
  const ask: SliceAsk = {
    outline: (file) => note(['outline', file], { ...outline(items), ...known }),
    tree: (folder, depth) => note(['tree', folder, depth], { files: items.map(branch), summary: '', ...known }),
    symbol: (name, source) =>
      note(
        ['symbol', name, source],
        list((index) => definition(index, source)),
      ),
    references: (name, limit) =>
      note(
        ['references', name, limit],
        list((line) => use(name, line)),
      ),
    find: (query, limit) =>
      note(
        ['find', query, limit],
        list((index) => definition(index, false)),
      ),
    search: (query, limit) =>
      note(
        ['search', query, limit],
        list((line) => hit(query, line)),
      ),
    explore: (question, options) => note(['explore', question, options], { ...exploration(items), ...known }),
    hops: (file, depth) =>
      note(['hops', file, depth], {
        files: list((index) => ({ filePath: path(index), distance: 1, via: 'import' })),
        ...known,
      }),
    file: (file) => note(['file', file], items.map((line) => `line ${line} of ${file}\n`).join('')),
  };
  return { ask, asked };
}
