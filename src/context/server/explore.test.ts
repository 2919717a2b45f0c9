import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { CodeToolArgs } from '../../protocol/code.ts';

function serve(files: Record<string, string>) {
  const repository = makeRepository(files);
  const client = new ServerClient({ worktree: repository.checkout, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => void (await client.close()));
  const explore = (args: CodeToolArgs<'explore_code'>) => client.call('explore_code', { ...args, require: 'complete' });
  return { repository, explore };
}

const filler = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => `  step${from + at}();`).join('\n');

const BILLING = `/** Small, so it is shown whole. */
export function roundPrice(price: number): number {
  return Math.round(price * 100) / 100;
}

export function billCustomer(
  customer: string,
  amount: number,
): void {
${filler(0, 60)}
  const total = roundPrice(amount);
  charge(customer, total);
${filler(60, 120)}
}
`;

/** What is found, what it imports and uses, what that imports, and one step too far. */
const CHAIN = {
  'src/billing.ts': `import { charge } from './charge.ts';\n${BILLING}`,
  'src/charge.ts':
    "import { openLedger } from './ledger.ts';\nexport function charge(who: string) {\n  openLedger(who);\n}\n",
  'src/ledger.ts':
    "import { writeRecord } from './record.ts';\nexport function openLedger(key: string) {\n  writeRecord(key);\n}\n",
  'src/record.ts': 'export function writeRecord(row: string) {\n  return row;\n}\n',
  'src/unrelated.ts': 'export function paintWindow() {\n  return 1;\n}\n',
};

verifies('C-065', 'C-141').test(
  'a small definition is shown whole; of a large one its signature and the lines that match, as they stand in the file',
  async () => {
    const { repository, explore } = serve(CHAIN);
    const { slices } = await explore({ question: 'where is the price rounded for a customer?', budget_tokens: 600 });
    const lines = readFileSync(join(repository.checkout, 'src/billing.ts'), 'utf8').split('\n');
    for (const { file_path, start_line, end_line, text } of slices.filter((one) => one.file_path === 'src/billing.ts'))
      expect([file_path, text]).toEqual([file_path, lines.slice(start_line - 1, end_line).join('\n')]);
    const texts = slices.filter(({ file_path }) => file_path === 'src/billing.ts').map(({ text }) => text);
    const place = '  const total = roundPrice(amount);';
    const { slices: roomy } = await explore({ question: 'where is the price rounded for a customer?' });
    expect({
      whole: texts.find((text) => text.startsWith('export function roundPrice'))?.split('\n').length,
      signature: texts.find((text) => text.startsWith('export function billCustomer')),
      matching: texts.find((text) => text.includes(place))?.split('\n').length,
      rest: texts.some((text) => text.includes('step30();')),
      withRoom: roomy.some(({ text }) => text.startsWith('export function billCustomer') && text.includes('step30();')),
    }).toEqual({
      whole: 3,
      signature: 'export function billCustomer(\n  customer: string,\n  amount: number,\n): void {',
      matching: 6,
      rest: false,
      withRoom: true,
    });
  },
);

verifies('C-065').test(
  'what is found brings what it uses and imports to depth two, nearer first, and nothing that has no part in it',
  async () => {
    const { explore } = serve(CHAIN);
    const files = async (args: CodeToolArgs<'explore_code'>) => {
      const { slices, map, left_out } = await explore(args);
      const told = JSON.stringify([slices, map, left_out]);
      return Object.keys(CHAIN).filter((path) => told.includes(path));
    };
    const near = ['src/billing.ts', 'src/charge.ts', 'src/ledger.ts'];
    expect(await files({ question: 'roundPrice' })).toEqual(near); // by the name of a symbol
    expect(await files({ question: 'whole' })).toEqual(near); // by search: only a comment has the word
    expect(await files({ question: 'nothing of it', files: ['src/charge.ts'] })).toContain('src/record.ts');
    const { map } = await explore({ question: 'roundPrice' });
    expect(map.split('\n').map((line) => line.replace(/:.*/, ''))).toEqual(near.slice(1));
    expect(await files({ question: 'roundPrice', paths: ['src/ledger.ts'] })).not.toContain('src/charge.ts');
  },
);

verifies('C-065').test(
  'with more to say than fits, the best for its tokens comes first, most of the budget is used, and the rest is named',
  async () => {
    const many = Object.fromEntries(
      Array.from({ length: 24 }, (_, at) => [
        `src/m${at}.ts`,
        `export function invoiceLine${at}(amount: number) {\n${'  use(amount);\n'.repeat(5 + (at % 20))}}\n`,
      ]),
    );
    const { explore } = serve({
      ...many,
      'src/best.ts': 'export function invoice(amount: number) {\n  return amount;\n}\n',
    });
    const ask = () => explore({ question: 'invoice', budget_tokens: 1_000 });
    const [one, two] = [await ask(), await ask()];
    expect(JSON.stringify({ ...two, basis: {} })).toBe(JSON.stringify({ ...one, basis: {} }));
    expect([one.slices[0]?.file_path, one.tokens <= 1_000, one.tokens >= 850]).toEqual(['src/best.ts', true, true]);
    const shown = new Set(one.slices.map(({ file_path, start_line }) => `${file_path}:${start_line}`));
    expect([one.left_out.length > 0, one.left_out.filter((place) => shown.has(place))]).toEqual([true, []]);
    const named = one.map.split('\n').filter((line) => !line.startsWith(' '));
    const all = [...shown, ...named, ...one.left_out].map((place) => place.replace(/:.*$/, ''));
    expect([...new Set(all)].sort()).toEqual([...Object.keys(many), 'src/best.ts'].sort());
  },
);

const SHOP = {
  'src/prices.ts': `export function roundPrice(price: number) {\n${'  price = step(price);\n'.repeat(30)}  return price;\n}\n`,
  'src/bill.ts':
    "import { roundPrice } from './prices.ts';\nexport class Bill {\n  total(lines: number[]) {\n    return roundPrice(lines.length);\n  }\n}\n",
  'test/prices.test.ts':
    "test('rounds a price', () => {\n  function roundsPrice() {\n    return roundPrice(1);\n  }\n});\n",
  'docs/prices.md': 'How a price is rounded: roundPrice rounds the price.\n',
};

verifies('C-141').test(
  'bodies come first and whole, with what they call and who calls them, named as people write it',
  async () => {
    const { explore } = serve(SHOP);
    const { slices, tokens } = await explore({ question: 'how are prices rounded?', budget_tokens: 1_000 });
    expect(slices[0]).toMatchObject({
      ...{ file_path: 'src/prices.ts', start_line: 1, end_line: 33 },
      why: 'defines roundPrice; called by Bill.total',
    });
    expect(slices.find(({ why }) => why.startsWith('defines Bill.total'))).toMatchObject({
      start_line: 3,
      end_line: 5,
    });
    expect(tokens).toBeLessThanOrEqual(1_000);
  },
);

verifies('C-141').test('tests come after the code, and first only if the question asks for them', async () => {
  const { explore } = serve(SHOP);
  const first = async (question: string) => {
    const { slices } = await explore({ question });
    return slices[0]?.file_path;
  };
  expect([await first('rounds a price'), await first('which test rounds a price')]).toEqual([
    'src/prices.ts',
    'test/prices.test.ts',
  ]);
});

verifies('C-065').test('the order in which files came into the index does not change the answer', async () => {
  const file = (at: number) => [`src/m${at}.ts`, `export function settle(due: number) {\n  return due - ${at};\n}\n`];
  const [first, last] = [0, 40].map((from) =>
    Object.fromEntries(Array.from({ length: 40 }, (_, at) => file(from + at + 10))),
  );
  const ask = { question: 'settle', budget_tokens: 20_000 };
  const atOnce = await serve({ ...first, ...last }).explore(ask);
  const { repository, explore } = serve({ ...last });
  await explore(ask);
  for (const [path, text] of Object.entries({ ...first })) repository.write(path, text as string);
  repository.commit('the rest');
  const later = await explore(ask);
  expect({ ...later, basis: {} }).toEqual({ ...atOnce, basis: {} });
});
