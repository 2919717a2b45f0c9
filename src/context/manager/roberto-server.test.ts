import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import {
  NO_REAL_ROBERTO,
  REAL_ROBERTO,
  writePlayer,
  writeShop,
} from '../../../test/fixtures/context/roberto/programs.ts';
import { openBench } from '../../../test/support/context/manager-bench.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { processRows } from '../../process/process-table.ts';
import { type CodeToolArgs, codeTools } from '../../protocol/code.ts';
import { ContextPartitionerService } from '../partitioner/context-partitioner.ts';
import { configuredServer } from './server-command.ts';

/** A server over the shop, asked through the door everybody uses. */
async function openShop(programIn: (dir: string) => string) {
  const server = { command: '', args: () => [], env: {} };
  const { dir, manager, worktree, close, pids } = await openBench(() => ({}), { server });
  onTestFinished(close);
  Object.assign(server, configuredServer(programIn(dir), {}));
  const worktreePath = worktree('a');
  writeShop(worktreePath);
  await manager.ensureServer(worktreePath);
  return { worktreePath, pids, service: new ContextPartitionerService({ servers: manager }) };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

/** roberto-mcp lists things in an order that changes from run to run. */
const sorted = <T>(items: readonly T[]) => items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

async function outlines({ service, worktreePath }: Shop) {
  const named = async (filePath: string) => {
    const { functions } = await service.getFileOutline({ worktreePath, filePath });
    return functions.map(({ name, line }) => `${line} ${name}`);
  };
  const names = ['Order.java', 'Till.cs', 'Till.kt', 'Till.m', 'Till.php', 'lib.rs', 'shop.py', 'stock.c', 'stock.cpp'];
  const more = ['store.go', 'till.js', 'till.rb', 'till.scala', 'till.swift'];
  const lists = [...names, ...more].map(async (name) => [name, await named(`src/${name}`)]);
  return Object.fromEntries(await Promise.all(lists));
}

async function answers(shop: Shop) {
  const { service, worktreePath } = shop;
  const { files } = await service.getDirectoryOutline({ worktreePath, args: { directory_path: 'src' } });
  const hits = async (query: string, context_lines = 2) => {
    const { results } = await service.callTool('code_search', { worktreePath, args: { query, context_lines } });
    return results.slice(0, 2).map(({ file_path, line, line_text }) => [file_path, line, line_text]);
  };
  const symbols = async <T extends 'get_symbol' | 'find_symbols'>(tool: T, args: CodeToolArgs<T>) =>
    (await service.callTool(tool, { worktreePath, args })).symbols;
  return {
    cart: await service.getFileOutline({ worktreePath, filePath: 'src/cart.ts' }),
    readme: await service.getFileOutline({ worktreePath, filePath: 'README.md' }),
    functions: await outlines(shop),
    tree: files
      .filter(({ file_path }) => /money|stock/.test(file_path))
      .map((file) => [file.file_path, sorted(file.symbols)]),
    uses: sorted(await service.getSymbolReferences({ worktreePath, symbolName: 'total' })),
    definitions: await symbols('get_symbol', { name: 'compareTo', include_source: true }),
    alike: sorted(await symbols('find_symbols', { query: 'roun' })).map(({ location }) => [
      location.file,
      location.start_line,
    ]),
    hits: [await hits('roundPrice'), await hits('total cart'), await hits('pay', 0), await hits('nobody')],
    hops: await service.callTool('get_hops', { worktreePath, args: { files: ['src/cart.ts'] } }),
  };
}

const FOREIGN = expect.objectContaining({ engine: 'foreign', complete: false });
const MEMBER = { line: null, signature: expect.any(String) };
const ANSWERS = {
  cart: {
    functions: [
      { name: 'add', signature: 'add(item: Item): void {', line: 10 },
      { name: 'total', signature: 'function total(cart: Cart): number {', line: 15 },
    ],
    classes: [{ name: 'Cart', line: 7 }],
    methods: [],
    types: [
      { name: 'Size', kind: 'enum', line: 4 },
      { name: 'Item', kind: 'interface', line: 5 },
    ],
    constants: [],
    basis: FOREIGN,
  },
  readme: { functions: [], classes: [], methods: [], types: [], constants: [], basis: FOREIGN },
  functions: {
    'Order.java': ['8 compareTo', '13 parts', '15 Order', '17 largest', '25 price'],
    'Till.cs': ['4 Count', '6 Load', '8 Close'],
    'Till.kt': ['4 open', '5 toTill', '6 second', '7 `closes twice`'],
    'Till.m': ['2 totalWithTax', '5 totalWithTax'],
    'Till.php': ['5 total', '6 open', '8 find_till'],
    'lib.rs': ['4 parse_a_very_long_name_indeed'],
    'shop.py': ['5 sell', '9 total'],
    'stock.c': ['5 stock_count', '11 main'],
    'stock.cpp': ['2 largest', '3 largest'],
    'store.go': ['5 Get', '9 New'],
    'till.js': ['3 open', '4 total', '4 load', '5 ändern'],
    'till.rb': ['5 initialize', '6 empty?'],
    'till.scala': ['2 isOpen', '3 add'],
    'till.swift': [],
  },
  tree: [
    ['src/lib/money.ts', [{ name: 'Money', symbol_type: 'class', ...MEMBER }]],
    [
      'src/stock.c',
      [
        { name: 'main', symbol_type: 'function', ...MEMBER },
        { name: 'stock', symbol_type: 'class', ...MEMBER },
        { name: 'stock_count', symbol_type: 'function', ...MEMBER },
      ],
    ],
    [
      'src/stock.cpp',
      [
        { name: 'Stock', symbol_type: 'class', ...MEMBER },
        { name: 'largest', symbol_type: 'function', ...MEMBER },
        { name: 'largest', symbol_type: 'function', ...MEMBER },
      ],
    ],
  ],
  uses: [
    ['src/cart.ts', 15, 16, 'export function total(cart: Cart): number {'],
    ['src/cart.ts', 20, 0, 'total(new Cart());'],
    ['src/shop.py', 6, 15, '        return total(cart)'],
    ['src/shop.py', 9, 4, 'def total(cart):'],
  ].map(([filePath, line, column, lineText]) => ({
    ...{ filePath, line, column, lineText },
    ...{ kind: 'Usage', confidence: 'lexical' },
  })),
  definitions: [
    {
      ...{ id: 'src/Order.java#compareTo:8', name: 'compareTo', symbol_type: 'function' },
      location: {
        file: 'src/Order.java',
        start_line: 8,
        start_column: 4,
        end_line: 11,
        end_column: expect.any(Number),
      },
      ...{ namespace: null, visibility: 'public', signature: 'public int compareTo(Order other) {' },
      source: '    @Override\n    public int compareTo(Order other) {\n        return 0;\n    }',
    },
  ],
  alike: [
    ['src/cart.ts', 19],
    ['src/cart.ts', 19],
  ],
  hits: [
    [['src/cart.ts', 19, 'const roundPrice = (x: number) => Math.round(x);']],
    [
      ['src/shop.py', 5, '    def sell(self, cart):'],
      ['src/cart.ts', 1, "import { Money } from './lib/money';"],
    ],
    [['src/pay.py', null, '']],
    [],
  ],
  hops: { files: 'unknown', basis: FOREIGN },
};

const SERVERS = {
  'the recording of roberto-mcp 0.2.1': { programIn: writePlayer, isThere: true },
  'a real roberto-mcp': { programIn: () => REAL_ROBERTO ?? '', isThere: REAL_ROBERTO !== undefined },
};

for (const [name, { programIn, isThere }] of Object.entries(SERVERS)) {
  const proves = verifies('C-095').needs(isThere, NO_REAL_ROBERTO);

  proves.test(`${name} is started in the worktree, told its limit by both names, and understood`, async () => {
    const shop = await openShop(programIn);
    const environment = processRows()
      .filter((row) => shop.pids().includes(row.session))
      .map((row) => readFileSync(`/proc/${row.pid}/environ`, 'utf8').split('\0'))
      .at(-1);
    expect(environment?.filter((line) => line.startsWith('ROBERTO_')).sort()).toEqual([
      'ROBERTO_MAX_MEMORY_MB=256',
      'ROBERTO_MEMORY_LIMIT=256',
    ]);
    expect(await answers(shop)).toEqual(ANSWERS);
  });

  proves.test(`answers of ${name} reach people and agents in the form of our own`, async () => {
    const { service, worktreePath } = await openShop(programIn);
    const questions = {
      index_code: { path: worktreePath },
      get_symbol: { name: 'Cart' },
      find_symbols: { query: 'roun' },
      get_symbol_references: { name: 'Cart' },
      code_search: { query: 'pay', context_lines: 0 },
      get_file_outline: { file_path: 'src/Order.java' },
      get_directory_outline: { directory_path: 'src' },
      get_hops: { files: ['src/cart.ts'] },
    } as const;
    for (const tool of Object.keys(questions) as (keyof typeof questions)[]) {
      const answer = await service.callTool(tool, { worktreePath, args: questions[tool] as never });
      expect(codeTools[tool].output.safeParse(answer).error).toBe(undefined);
      expect(JSON.stringify({ ...answer, basis: undefined })).not.toContain(worktreePath);
    }
    const two = { worktreePath, args: { name: 'Cart', limit: 2 } };
    const { references, total_count } = await service.callTool('get_symbol_references', two);
    expect([references.length, total_count]).toEqual([2, 3]);
  });

  proves.test(`what ${name} refuses is refused, and what it does not have is named`, async () => {
    const { service, worktreePath } = await openShop(programIn);
    const refused = (asked: Promise<unknown>) => asked.catch(({ code, message }) => [code, message]);
    expect([
      await refused(service.getFileOutline({ worktreePath, filePath: 'src' })),
      await refused(service.getFileOutline({ worktreePath, filePath: 'none.ts' })),
      await refused(service.callTool('explore_code', { worktreePath, args: { question: 'where?' } })),
    ]).toEqual([
      ['mcp_query', `Path is not a file: ${worktreePath}/src`],
      ['mcp_query', "Invalid path 'none.ts': No such file or directory (os error 2)"],
      ['mcp_query', 'This analysis server has no explore_code.'],
    ]);
  });
}
