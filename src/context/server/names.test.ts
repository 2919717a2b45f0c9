import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openTools } from '../../../test/support/context/open-tools.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { readName } from '../code-index/query/written-name.ts';

const FILES = {
  'shop/cart.py':
    'class Cart:\n    def total(self):\n        return 1\n\n    def filter(self):\n        return self.total()\n',
  'shop/order.py': 'class Order:\n    def total(self):\n        return 2\n\ndef total():\n    return Order().total()\n',
  'lib/queue.cpp':
    'namespace net {\nclass Queue {\n  int size() const;\n};\nint Queue::size() const { return 0; }\n}\n',
  'lib/point.cpp': 'struct Point { bool operator==(const Point& other) const { return true; } };\n',
  'web/secret.ts': 'export class Safe {\n  #code = 1;\n  open() {\n    return this.#code;\n  }\n}\n',
  'go/context.go': 'package gin\n\ntype Context struct{}\n\nfunc (c *Context) Next() {}\n',
};

verifies('C-140').test('a name is read as people write it, and words are no name', () => {
  const written = {
    total: ['total'],
    'Cart.total': ['Cart', 'total'],
    'Cart.total()': ['Cart', 'total'],
    'Cart.total(a, b)': ['Cart', 'total'],
    '`Cart#total`': ['Cart', 'total'],
    'net::Queue<int>::size': ['net', 'Queue', 'size'],
    'queue->size()': ['queue', 'size'],
    'this.open': ['open'],
    'self.items?.count': ['items', 'count'],
    'App\\Models\\User': ['App', 'Models', 'User'],
    'def total': ['total'],
    'export async function total': ['total'],
    'shop/cart.py:Cart.total': ['shop', 'cart', 'Cart', 'total'],
    'shop/cart.py#Cart.total:2': ['shop', 'cart', 'Cart', 'total'],
    'Point::operator==': ['Point', 'operator=='],
    'Array.prototype.map': ['Array', 'map'],
  };
  const read = Object.keys(written).map((text) => {
    const { name, owners } = readName(text) ?? { name: 'none', owners: [] };
    return [...owners, name];
  });
  expect(read).toEqual(Object.values(written));
  expect(['where is the price rounded', '', '  ', '...', '()'].map(readName)).toEqual(Array(5).fill(undefined));
});

verifies('C-140').test('every tool of names finds the definition that the class or module in front means', async () => {
  const { ask } = openTools(FILES);
  const ids = async (name: string) => (await ask('get_symbol', { name })).symbols.map(({ id }) => id);
  expect(await ids('Cart.total')).toEqual(['shop/cart.py#Cart.total:2']);
  expect(await ids('Cart#total')).toEqual(['shop/cart.py#Cart.total:2']);
  expect(await ids('order.Order.total()')).toEqual(['shop/order.py#Order.total:2']);
  expect(await ids('order.total')).toEqual(['shop/order.py#total:5']);
  expect(await ids('shop.order.total')).toEqual(['shop/order.py#total:5']);
  expect(await ids('net::Queue::size')).toEqual(['lib/queue.cpp#net.Queue.size:3', 'lib/queue.cpp#net.Queue.size:5']);
  expect(await ids('Point::operator==')).toEqual(['lib/point.cpp#Point.operator==:1']);
  expect(await ids('Context.Next')).toEqual(['go/context.go#Context.Next:5']);
  expect(await ids('#code')).toEqual(['web/secret.ts#Safe.#code:2']);
  const found = await ask('find_symbols', { query: 'Cart.tot' });
  expect(found.symbols.map(({ id }) => id)).toEqual(['shop/cart.py#Cart.total:2']);
  const { references } = await ask('get_symbol_references', { name: 'Order.total' });
  expect(references[0]).toMatchObject({ target_symbol: 'shop/order.py#Order.total:2' });
  expect(references.map(({ location }) => location.file)).toContain('shop/cart.py');
});

verifies('C-140').test('what a name in parts does not find is said, and never taken for proof', async () => {
  const { ask, call } = openTools(FILES);
  const wider = await ask('get_symbol', { name: 'Basket.filter' });
  expect(wider.symbols.map(({ id }) => id)).toEqual(['shop/cart.py#Cart.filter:5']);
  expect(wider.note).toContain('No filter belongs to Basket');
  expect((await ask('get_symbol_references', { name: 'Basket.filter' })).note).toContain('No filter belongs to Basket');
  expect((await ask('find_symbols', { query: 'Basket.filt' })).note).toContain('No filt belongs to Basket');
  for (const [tool, args] of [
    ['get_symbol', { name: 'where is the total made' }],
    ['get_symbol_references', { name: 'the total' }],
  ] as const) {
    const { isError, content } = await call(tool, args);
    expect([isError, content[0]?.text]).toEqual([
      true,
      expect.stringMatching(/^bad_arguments: name: .* is not a name/),
    ]);
  }
});

verifies('C-147').test(
  'a typo with two letters swapped finds its name, before all that only has its letters',
  async () => {
    const decoys = Array.from({ length: 30 }, (_, at) => `def f_i_t_l_e_r_${at}():\n    pass\n`).join('');
    const { ask } = openTools({ ...FILES, 'shop/decoys.py': decoys });
    const { symbols } = await ask('find_symbols', { query: 'fitler' });
    expect(symbols[0]?.id).toBe('shop/cart.py#Cart.filter:5');
    expect((await ask('get_symbol', { name: 'Cart.fitler' })).note).toContain('Similar: filter');
  },
);

verifies('C-147').test('signatures carry no comments, wherever they stand', async () => {
  const { ask } = openTools({
    'a.ts': [
      'const one = 1;',
      '/** Adds. */ export function add(',
      '  left: number, // the first',
      '  /* the second */ right: number, // "quoted"',
      '): number { return left + right; }',
      "export const url = (path = 'http://a#b') => path;",
    ].join('\n'),
    'b.py': 'def scale(\n    by,  # a factor\n    mark="#",\n):\n    return by\n',
  });
  const signatures = async (file_path: string) =>
    (await ask('get_file_outline', { file_path })).symbols.map(({ signature }) => signature);
  expect(await signatures('a.ts')).toEqual([
    'const one = 1',
    'export function add( left: number, right: number, ): number',
    "export const url = (path = 'http://a#b') =>",
  ]);
  expect(await signatures('b.py')).toEqual(['def scale( by, mark="#", )']);
});

verifies('C-145').test(
  'a page goes on where the last one ended, also after the server has ended, until a file changes',
  async () => {
    const calls = Array.from({ length: 40 }, (_, at) => `export const f${at} = () => shared(${at});\n`).join('');
    const { ask, call, repository, restart } = openTools({
      'a.ts': `export const shared = (n: number) => n;\n${calls}`,
      'b.ts': `import { shared } from './a.ts';\n${calls}`,
    });
    const whole = await ask('get_symbol_references', { name: 'shared' });
    const first = await ask('get_symbol_references', { name: 'shared', limit: 50 });
    await restart();
    const cursor = first.next_cursor ?? '';
    const second = await ask('get_symbol_references', { name: 'shared', limit: 50, cursor });
    expect([...first.references, ...second.references]).toEqual(whole.references);
    expect(second.next_cursor).toBe(undefined);
    const other = await call('get_symbol_references', { name: 'f1', cursor });
    expect(other.content[0]?.text).toMatch(/^cursor_expired/);
    appendFileSync(join(repository.checkout, 'b.ts'), 'shared(1);\n');
    const late = await call('get_symbol_references', { name: 'shared', cursor });
    expect(late.content[0]?.text).toMatch(/^cursor_expired/);
  },
);

verifies('C-140').test('a path with blanks may stand before a name, words may not', async () => {
  const { ask, call } = openTools({
    'my dir/word count.js': 'export function total(text) {\n  return text;\n}\n',
    ...FILES,
  });
  const { symbols } = await ask('get_symbol', { name: 'my dir/word count.js:total' });
  expect(symbols.map(({ id }) => id)).toEqual(['my dir/word count.js#total:1']);
  const words = await call('get_symbol', { name: 'where is the cart.py:total' });
  expect(words.structuredContent).toMatchObject({ error: { code: 'bad_arguments' } });
});

verifies('C-051').test('an outline without symbols says what kind of file that is', async () => {
  const { ask } = openTools({
    'logo.png': 'a\0b',
    'min.js': `x(${'1,'.repeat(40_000)}1);\n`,
    'broken.ts': 'export class {{{ (\n',
    'README.md': '# Words\n',
  });
  const told = async (file_path: string) => {
    const { note, basis } = await ask('get_file_outline', { file_path });
    return [note, basis.complete];
  };
  await ask('index_code', { path: '.', wait: 'complete' });
  expect(await told('logo.png')).toEqual(['It is binary.', true]);
  expect(await told('README.md')).toEqual([undefined, true]);
  expect(await told('min.js')).toEqual([expect.stringContaining('too long'), false]);
  expect(await told('broken.ts')).toEqual([expect.stringContaining('does not parse'), false]);
});
