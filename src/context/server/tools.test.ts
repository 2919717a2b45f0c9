import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import {
  basisSchema,
  type CodeToolArgs,
  type CodeToolName,
  type CodeToolResult,
  codeTools,
} from '../../protocol/code.ts';
import { CodeIndex } from '../code-index/code-index.ts';
import type { CodeParser } from '../lang/contract.ts';
import { ParserPool } from '../lang/parser-pool.ts';
import { ToolSet } from './tools.ts';

const FILES = {
  'src/cart.ts': "import { roundPrice } from './price.ts';\nexport const total = (n: number) => roundPrice(n);\n",
  'src/price.ts': 'export function roundPrice(value: number) {\n  return Math.round(value);\n}\n',
};

/** Real tools on a real repository; the real parser begins when it is let. */
async function openTools(files: Record<string, string>, { held = false, deadlineMs = 19_000 } = {}) {
  const repository = makeRepository(files);
  const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
  const gate = Promise.withResolvers<void>();
  if (!held) gate.resolve();
  const parser: CodeParser = {
    prepare: () => {},
    extract: (...args) => gate.promise.then(() => pool.extract(...args)),
    classify: (...args) => gate.promise.then(() => pool.classify(...args)),
    close: () => pool.close(),
  };
  const { git, checkout: worktree } = repository;
  const storeFile = join(repository.root, 'code.db');
  const open = () =>
    CodeIndex.open({ git, worktree, storeFile, parser: async () => parser, workers: 1, engine: 'test' });
  const tools = new ToolSet({ open, workers: 1, deadlineMs });
  onTestFinished(async () => {
    gate.resolve();
    await tools.close();
    await pool.close();
  });
  const call = async (name: CodeToolName, args: object) => tools.call(name, args, new AbortController().signal);
  const ask = async <N extends CodeToolName>(name: N, args: CodeToolArgs<N>) =>
    (await call(name, args)).structuredContent as CodeToolResult<N>;
  return { repository, call, ask, release: () => gate.resolve() };
}

/** One question to each tool that answers about code. */
const QUESTIONS: [CodeToolName, object][] = [
  ['get_symbol_references', { name: 'roundPrice' }],
  ['find_symbols', { query: 'roundPrice' }],
  ['code_search', { query: 'round price' }],
  ['get_hops', { files: ['src/price.ts'] }],
  ['explore_code', { question: 'where are prices rounded' }],
];
/** These parse what they touch before they answer. */
const PARSING: [CodeToolName, object][] = [
  ['get_symbol', { name: 'roundPrice' }],
  ['get_file_outline', { file_path: 'src/price.ts' }],
  ['get_directory_outline', { directory_path: '.' }],
];

verifies('C-013', 'C-014', 'C-104').test(
  'while files are still to be parsed every tool answers with what there is, and says that it is not all',
  async () => {
    const { repository, call, ask, release } = await openTools(FILES, { held: true });
    const indexed = await ask('index_code', { path: repository.checkout });
    expect([indexed.status, indexed.basis.stage]).toEqual(['success', 1]);
    const early = await Promise.all(QUESTIONS.map(async ([name, args]) => [name, await call(name, args)] as const));
    for (const [name, { structuredContent }] of early) {
      const { basis } = codeTools[name].output.parse(structuredContent) as { basis: object };
      expect([name, basisSchema.parse(basis)]).toMatchObject([
        name,
        { stage: 1, complete: false, head: indexed.basis.head },
      ]);
      expect([name, basisSchema.parse(basis).pending > 0]).toEqual([name, true]);
    }
    const waiting = [...QUESTIONS, ...PARSING].map(async ([name, args]) => {
      const { structuredContent } = await call(name, { ...args, require: 'complete' });
      return [name, (codeTools[name].output.parse(structuredContent) as { basis: object }).basis] as const;
    });
    release();
    for (const [name, basis] of await Promise.all(waiting)) {
      expect([name, basis]).toMatchObject([name, { stage: 2, complete: true, pending: 0, skipped: 0, dirtyFiles: 0 }]);
    }
  },
);

verifies('C-014').test(
  'an answer that must be complete and cannot be in time is refused, to be asked again',
  async () => {
    const { repository, call, ask } = await openTools(FILES, { held: true, deadlineMs: 300 });
    await ask('index_code', { path: repository.checkout });
    const refused = await Promise.all(
      QUESTIONS.map(async ([name, args]) => {
        const { isError, structuredContent } = await call(name, { ...args, require: 'complete' });
        const { error } = structuredContent as { error: { code: string; retryable: boolean } };
        return [name, isError, error.code, error.retryable];
      }),
    );
    expect(refused).toEqual(QUESTIONS.map(([name]) => [name, true, 'index_incomplete', true]));
  },
);

verifies('C-104').test('a complete search has the same bytes in any worktree of the same tree', async () => {
  const search = async () => {
    const { ask } = await openTools(FILES);
    const { results, basis } = await ask('code_search', { query: 'round price', require: 'complete' });
    return [results, basis.complete];
  };
  expect(await search()).toEqual(await search());
});

/** One name defined and used very often, in one file and in many, with text that costs more tokens than letters suggest. */
function manyFiles(): Record<string, string> {
  const odd = (at: number) => `/* ${'0f3a9c'.repeat(8)} ${'検索'.repeat(6)} ${at} */ `;
  const one = Array.from(
    { length: 3_000 },
    (_, at) => `export function step${at}(a: string, b: number) { return a + b; }`,
  );
  const files = Array.from({ length: 400 }, (_, at) => [
    `src/some/folder/file${at}.ts`,
    `${odd(at)} export function shared(x${at}: number) { return shared(x${at}) + 1; }\n`,
  ]);
  return { 'src/one.ts': `${one.join('\n')}\n`, ...Object.fromEntries(files) };
}

verifies('C-052').test(
  'no answer costs a model more than ten thousand tokens, however much there is to say',
  async () => {
    const { count } = await loadTokenCounter();
    const { call, ask } = await openTools(manyFiles());
    await ask('index_code', { path: '.', wait: 'complete' });
    const questions: [CodeToolName, object][] = [
      ['get_symbol', { name: 'shared', include_source: true }],
      ['get_symbol', { name: 'shared' }],
      ['get_symbol_references', { name: 'shared', limit: 2_000, include_text: true }],
      ['find_symbols', { query: 'step', limit: 50 }],
      ['code_search', { query: 'shared', limit: 100, context_lines: 20 }],
      ['get_file_outline', { file_path: 'src/one.ts' }],
      ['get_directory_outline', { directory_path: 'src' }],
    ];
    for (const [name, args] of questions) {
      const { content, structuredContent } = await call(name, args);
      const tokens = count(content[0]?.text ?? '');
      expect([name, tokens <= 10_000 && tokens > 2_000, tokens]).toEqual([name, true, tokens]);
      codeTools[name].output.parse(structuredContent);
    }
    const cut = await ask('get_file_outline', { file_path: 'src/one.ts' });
    expect([cut.symbols.length < 3_000, cut.basis.complete]).toEqual([true, false]);
  },
  120_000,
);

verifies('C-065').test('explore stays within its budget by the exact counter, and uses most of it', async () => {
  const { count } = await loadTokenCounter();
  const body = (at: number) =>
    Array.from(
      { length: 8 },
      (_, line) => `  const amount${line} = roundPrice(price${at} * ${line}) - discountOf(cart, ${line});`,
    );
  const files = Object.fromEntries(
    Array.from({ length: 80 }, (_, at) => [
      `src/shop/order${at}.ts`,
      `/** Rounds the prices of order ${at}. */\nexport function orderTotal${at}(cart: Cart, price${at}: number): number {\n${body(at).join('\n')}\n  return amount7;\n}\n`,
    ]),
  );
  const { ask } = await openTools(files);
  for (const budget of [500, 2_000, 8_000]) {
    const question = 'where are the prices of an order rounded?';
    const answer = await ask('explore_code', { question, budget_tokens: budget, require: 'complete' });
    const pieces = answer.slices.map(({ file_path, why, text, start_line, end_line }) =>
      [file_path, why, text, start_line, end_line].join('\n'),
    );
    const exact = count([answer.map, ...pieces].join('\n'));
    expect([budget, exact <= budget, answer.tokens <= budget, answer.tokens >= 0.85 * budget, exact]).toEqual([
      ...[budget, true, true, true, exact],
    ]);
    const told = JSON.stringify([answer.slices, answer.map, answer.left_out]);
    expect(Object.keys(files).filter((path) => told.includes(path)).length).toBeGreaterThan(50);
  }
});
