import { type FileOutline, listed } from '../../../src/context/partitioner/answers.ts';
import type { SliceAsk } from '../../../src/context/slices/slice-ask.ts';
import type { Basis, CodeSymbol, CodeToolResult } from '../../../src/protocol/code.ts';
import { ReefError } from '../../../src/protocol/errors.ts';

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

function definition(index: number, withSource: boolean): CodeSymbol {
  const signature = `function name${index}(a: number): number`;
  const source = `${signature} {\n  return a * ${index};\n}`;
  return {
    id: `${path(index)}#name${index}:${index}`,
    name: `name${index}`,
    symbol_type: 'function',
    location: { file: path(index), start_line: index, start_column: 0, end_line: index + 2, end_column: 1 },
    namespace: index % 2 === 0 ? 'Box' : null,
    visibility: 'public',
    signature,
    ...(withSource && { source }),
  };
}

function outline(items: readonly number[]): Omit<FileOutline, 'basis'> {
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

function exploration(items: readonly number[]): Omit<CodeToolResult<'explore_code'>, 'basis'> {
  const slices = items.map((index) => ({
    file_path: path(index),
    start_line: index,
    end_line: index + 1,
    why: 'names it',
    text: `function name${index}() {\n}`,
  }));
  const map = items.map((index) => `${path(index)}\n  name${index}`).join('\n');
  return { slices, map, tokens: 10, left_out: ['src/z.ts'] };
}

const use = (name: string, line: number) => ({
  filePath: path(line % 5),
  line,
  column: 2,
  kind: 'Call' as const,
  confidence: 'exact' as const,
  lineText: `    ${name}(${line});`,
});
const hit = (query: string, line: number) => ({
  file_path: path(line),
  line,
  line_text: `  ${query}`,
  content_snippet: `before\n  ${query}\nafter`,
  language: null,
  score: 1,
});
const branch = (index: number) => ({
  file_path: path(index),
  symbols: [
    { name: `name${index}`, symbol_type: 'function' as const, line: index, signature: `function name${index}()` },
  ],
});

/** Answers of the size asked for, and what was asked; there is no `gone.ts`. */
export function scriptedAsk({ size = 3, basis = COMPLETE }: { size?: number; basis?: Basis } = {}) {
  const asked: unknown[][] = [];
  const items = Array.from({ length: size }, (_, index) => index + 1);
  const note = async <T>(question: unknown[], answer: T): Promise<T> => {
    if (question[1] === 'gone.ts') throw new ReefError('file_not_found', 'There is no gone.ts.');
    asked.push(question);
    return answer;
  };
  const ask: SliceAsk = {
    outline: (file) => note(['outline', file], { ...outline(items), basis }),
    tree: (folder, depth) => note(['tree', folder, depth], { files: items.map(branch), summary: '', basis }),
    symbol: (name, source) =>
      note(['symbol', name, source], { symbols: items.map((index) => definition(index, source)), basis }),
    references: (name, limit) =>
      note(
        ['references', name, limit],
        listed(
          items.map((line) => use(name, line)),
          basis,
        ),
      ),
    find: (query, limit) =>
      note(['find', query, limit], { symbols: items.map((index) => definition(index, false)), basis }),
    search: (query, limit) =>
      note(['search', query, limit], { results: items.map((line) => hit(query, line)), total_found: size, basis }),
    explore: (question, options) => note(['explore', question, options], { ...exploration(items), basis }),
    hops: (file, depth) =>
      note(['hops', file, depth], {
        files: items.map((index) => ({ file_path: path(index), distance: 1, via: 'import' as const })),
        basis,
      }),
    file: (file) => note(['file', file], items.map((line) => `line ${line} of ${file}\n`).join('')),
  };
  return { ask, asked };
}
