import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/verifies.ts';
import { McpQueryError } from '../manager/mcp-server-error.ts';
import { isComplete } from './answers.ts';
import { asText, at, mocked } from './testing/mocked-client.ts';

/** roberto-mcp 0.2.1: what it writes for a small worktree, paths put in. */
function robertoWorktree() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'reef-roberto-')));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, 'src'));
  writeFileSync(
    join(dir, 'src/cart.ts'),
    'class Cart {\n  add() {}\n}\n\nfunction total() {\n  return 1;\n}\ntotal();\n',
  );
  return dir;
}

verifies('C-095').test('roberto-mcp: text outlines are parsed', async () => {
  const outline = `Classes:
  ├─ Cart (1:0) pub

Constants:
  ├─ TAX (20:6) priv

Enums:
  ├─ Size (22:0) pub

Functions:
  ├─ export function total(cart: Cart): number { (5:0) pub
  ├─ async add(item: Item, amount = count(item)): Promise<void> { (2:2) pub
  ├─ func (s *Store) Get(id int) (*Item, error) { (9:0) pub
  ├─ const round = (x: number) => x; (30:6) priv
  ├─ pub async fn parse_a_very_long_name_indeed(input: &str, options: ParseOptio... (40:4) prot

`;
  const { service } = mocked(asText(outline), asText('Classes:\n  ├─ Cart (1:0) pub\nand something else\n'));
  const answer = await service.getFileOutline({ worktreePath: '/w', filePath: 'src/cart.ts' });
  expect({ ...answer, functions: answer.functions.map(({ name, line }) => [name, line]) }).toEqual({
    functions: [
      ['total', 5],
      ['add', 2],
      ['Get', 9],
      ['round', 30],
      ['parse_a_very_long_name_indeed', 40],
    ],
    classes: [{ name: 'Cart', line: 1 }],
    methods: [],
    types: [{ name: 'Size', kind: 'enum', line: 22 }],
    constants: [{ name: 'TAX', line: 20 }],
  });
  expect([isComplete(answer), answer.functions[0]?.signature]).toEqual([
    false,
    'export function total(cart: Cart): number {',
  ]);
  await expect(service.getFileOutline({ worktreePath: '/w', filePath: 'src/cart.ts' })).rejects.toMatchObject({
    code: 'analysis_protocol',
  });
});

verifies('C-095').test('roberto-mcp: its error for a file without symbols is an empty outline', async () => {
  const message = "No symbols found for file 'README.md'. Make sure the file is indexed first.";
  const { service } = mocked(
    new McpQueryError('mcp_query', message, { worktreePath: '/w' }),
    new McpQueryError('mcp_query', 'Path is not a file: /w/src', { worktreePath: '/w' }),
  );
  expect(await service.getFileOutline({ worktreePath: '/w', filePath: 'README.md' })).toEqual({
    functions: [],
    classes: [],
    methods: [],
    types: [],
    constants: [],
  });
  await expect(service.getFileOutline({ worktreePath: '/w', filePath: 'src' })).rejects.toMatchObject({
    code: 'mcp_query',
    message: 'Path is not a file: /w/src',
  });
});

verifies('C-095').test('roberto-mcp: a directory outline is parsed, its files named from the worktree', async () => {
  const text = `Directory: src (2 files)

📁 cart.ts
  🏗️ Cart (classes)
  🏗️ total (functions)

📁 lib/money.ts
  🏗️ Money (classes)

Summary: 3 symbols across 2 files`;
  const { service } = mocked(asText(text));
  const member = (name: string, kind: string) => ({ name, kind, line: null, signature: name });
  expect(await service.getDirectoryOutline({ worktreePath: '/w', directoryPath: 'src' })).toEqual({
    files: [
      { filePath: 'src/cart.ts', symbols: [member('Cart', 'class'), member('total', 'function')] },
      { filePath: 'src/lib/money.ts', symbols: [member('Money', 'class')] },
    ],
    summary: 'Summary: 3 symbols across 2 files',
  });
});

verifies('C-095').test(
  'roberto-mcp: paths become relative, lines are looked up, what lies outside is left out',
  async () => {
    const dir = robertoWorktree();
    const file = join(dir, 'src/cart.ts');
    const symbol = {
      id: 2 ** 63,
      name: 'Cart',
      symbol_type: 'Class',
      location: at(file, 1),
      namespace: null,
      visibility: 'Public',
      source: null,
    };
    const use = (path: string, line: number) => ({
      location: at(path, line),
      reference_type: 'Call',
      target_symbol: 1,
    });
    const hit = (snippet: string) => ({
      score: 1.5,
      file_path: file,
      language: 'typescript',
      content_snippet: snippet,
    });
    const json = (value: object) => asText(JSON.stringify(value, null, 2));
    const { service } = mocked(
      json({ symbols: [symbol, { ...symbol, location: at('/elsewhere/cart.ts', 1) }] }),
      json({ references: [use(file, 8), use('/elsewhere/x.ts', 1)] }),
      json({ results: [hit('\nfunction total() {\n  return 1;'), hit('}'), hit('not there')], total_found: 3 }),
      json({ status: 'success', files_indexed: 42, symbols_found: 1_337, errors: [], duration_ms: 250 }),
    );
    const found = {
      definitions: await service.getSymbol({ worktreePath: dir, symbolName: 'Cart' }),
      uses: await service.getSymbolReferences({ worktreePath: dir, symbolName: 'total' }),
      hits: await service.codeSearch({ worktreePath: dir, query: 'TOTAL' }),
      indexed: await service.indexCode({ worktreePath: dir }),
    };
    const about = { filePath: 'src/cart.ts', language: 'typescript', score: 1.5 };
    expect(found).toEqual({
      definitions: [
        {
          name: 'Cart',
          kind: 'class',
          filePath: 'src/cart.ts',
          line: 1,
          column: 2,
          endLine: 1,
          container: null,
          visibility: 'public',
          signature: 'Cart',
        },
      ],
      uses: [
        { filePath: 'src/cart.ts', line: 8, column: 2, kind: 'Call', confidence: 'lexical', lineText: 'total();' },
      ],
      hits: [
        { ...about, line: 5, lineText: 'function total() {', snippet: '\nfunction total() {\n  return 1;' },
        { ...about, line: null, lineText: '', snippet: '}' },
        { ...about, line: null, lineText: '', snippet: 'not there' },
      ],
      indexed: { status: 'success', filesIndexed: 42, symbolsFound: 1_337, errors: [], durationMs: 250 },
    });
    expect([isComplete(found.uses), isComplete(found.hits)]).toEqual([false, false]);
  },
);
