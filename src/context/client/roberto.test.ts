import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { asText, at, mocked } from '../../../test/support/context/mocked-client.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { McpQueryError } from './mcp-server-error.ts';

/** What the recording does not hold: answers after an edit, about what lies outside, and such as no version gives. */

function worktreeWithLink() {
  const dir = temporaryFolder();
  mkdirSync(join(dir, 'real/src'), { recursive: true });
  writeFileSync(join(dir, 'real/src/cart.ts'), '// moved\nclass Cart {}\ntotal();\n');
  symlinkSync('real', join(dir, 'named'));
  return { real: join(dir, 'real'), named: join(dir, 'named') };
}

const json = (value: object) => asText(JSON.stringify(value, null, 2));

verifies('C-095').test(
  'roberto-mcp: paths become relative, a place is told once, and what lies outside is left out',
  async () => {
    const { real, named } = worktreeWithLink();
    const symbol = {
      id: 2 ** 63,
      name: 'Cart',
      symbol_type: 'Class',
      namespace: null,
      visibility: 'Public',
      source: null,
    };
    const use = (path: string) => ({ location: at(path, 3), reference_type: 'Usage', target_symbol: 1 });
    const hit = (file_path: string) => ({ score: 1.5, file_path, language: 'typescript', content_snippet: 'total();' });
    // After an edit it names a file by its path from the worktree as well; what it knew before stays.
    const files = [`${real}/src/cart.ts`, 'src/cart.ts', '/elsewhere/cart.ts', `${real}-2/src/cart.ts`];
    const { service } = mocked(
      json({ symbols: files.map((file) => ({ ...symbol, location: at(file, 2) })) }),
      json({ references: files.map(use) }),
      json({ results: files.slice(1).map(hit), total_found: 3 }),
    );
    expect([
      (await service.callTool('get_symbol', { worktreePath: named, args: { name: 'Cart' } })).symbols,
      await service.getSymbolReferences({ worktreePath: named, symbolName: 'total' }),
      (await service.callTool('code_search', { worktreePath: named, args: { query: 'TOTAL' } })).results,
    ]).toEqual([
      [
        {
          ...{ id: 'src/cart.ts#Cart:2', name: 'Cart', symbol_type: 'class', location: at('src/cart.ts', 2) },
          ...{ namespace: null, visibility: 'public', signature: 'Cart' },
        },
      ],
      [{ filePath: 'src/cart.ts', line: 3, column: 2, kind: 'Usage', confidence: 'lexical', lineText: 'total();' }],
      [{ ...hit('src/cart.ts'), line: 3, line_text: 'total();' }],
    ]);
  },
);

verifies('C-095').test('roberto-mcp: without the file a function is named out of the line it shows', async () => {
  const outline = `Functions:
  ├─ pub async fn parse_a_very_long_name_indeed(input: &str, options: ParseOptio... (40:4) prot
  ├─ @Override (2:4) pub

Constants:
  ├─ TAX (20:6) priv

`;
  const { service } = mocked(asText(outline));
  const { functions, constants } = await service.getFileOutline({ worktreePath: '/w', filePath: 'src/lib.rs' });
  expect([functions.map(({ name, line }) => [line, name]), constants]).toEqual([
    [
      [2, '@Override'],
      [40, 'parse_a_very_long_name_indeed'],
    ],
    [{ name: 'TAX', line: 20 }],
  ]);
});

verifies('C-095').test('roberto-mcp: text that is no outline is no answer', async () => {
  for (const text of ['Classes:\n  ├─ Cart (1:0) pub\nand something else\n', 'Directory: src\n', '']) {
    const { service } = mocked(asText(text));
    await expect(service.getFileOutline({ worktreePath: '/w', filePath: 'a.ts' })).rejects.toMatchObject({
      code: 'analysis_protocol',
    });
  }
  for (const text of ['📁 a.ts\n', 'Directory: src (1 files)\n\n📁 a.ts\nand something else\n']) {
    const { service } = mocked(asText(text));
    await expect(
      service.getDirectoryOutline({ worktreePath: '/w', args: { directory_path: 'src' } }),
    ).rejects.toMatchObject({
      code: 'analysis_protocol',
    });
  }
});

verifies('C-095').test('roberto-mcp: only its word that a file has no symbols is an empty outline', async () => {
  const refusal = (message: string) => new McpQueryError('mcp_query', message, { worktreePath: '/w' });
  const noSymbols = "No symbols found for file 'a.ts'. Make sure the file is indexed first.";
  const { service } = mocked(refusal(noSymbols), refusal(noSymbols));
  const basis = expect.objectContaining({ engine: 'foreign', complete: false });
  const empty = { functions: [], classes: [], methods: [], types: [], constants: [], basis };
  expect(await service.getFileOutline({ worktreePath: '/w', filePath: 'a.ts' })).toEqual(empty);
  await expect(service.callTool('get_symbol', { worktreePath: '/w', args: { name: 'a' } })).rejects.toThrow(
    'No symbols found',
  );
});
