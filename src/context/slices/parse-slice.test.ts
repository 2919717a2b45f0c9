import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { verifies } from '../../../test/support/verifies.ts';
import { checkContextBudget, isProblem, parseSlice } from './parse-slice.ts';
import { SLICE_KINDS } from './slice.ts';

const GOOD: [string, object][] = [
  ['outline:src/cart.ts', { kind: 'outline', argument: { text: 'src/cart.ts' } }],
  ['tree:. depth=2', { kind: 'tree', argument: { text: '.' }, depth: 2 }],
  ['refs:applyDiscount limit=20', { kind: 'refs', argument: { text: 'applyDiscount' }, limit: 20 }],
  ['symbol:Cart required', { kind: 'symbol', argument: { text: 'Cart' }, required: true }],
  ['source:a::b', { kind: 'source', argument: { text: 'a::b' } }],
  ['find:gQS', { kind: 'find', argument: { text: 'gQS' } }],
  ['search:"round \\"half\\" up" limit=3', { kind: 'search', argument: { text: 'round "half" up' }, limit: 3 }],
  [
    'explore:"where are prices rounded?" budget=1200',
    { kind: 'explore', argument: { text: 'where are prices rounded?' }, budget: 1_200 },
  ],
  ['explore:{task}', { kind: 'explore', argument: { from: 'task' } }],
  ['map:{task}', { kind: 'map', argument: { from: 'task' } }],
  ['hops:{plan} depth=1', { kind: 'hops', argument: { from: 'plan' }, depth: 1 }],
  ['outline:{changed}', { kind: 'outline', argument: { from: 'changed' } }],
  ['refs:{args.symbol_name}', { kind: 'refs', argument: { from: 'args', name: 'symbol_name' } }],
  [
    'file:src/a.ts lines=10-20  budget=300',
    { kind: 'file', argument: { text: 'src/a.ts' }, lines: { from: 10, to: 20 }, budget: 300 },
  ],
];

for (const [text, slice] of GOOD) {
  verifies('C-100').test(`${text} is a slice`, () => {
    expect(parseSlice(text)).toEqual({ required: false, ...slice, text });
  });
}

const BAD: [string, string][] = [
  ['', 'has no kind'],
  ['outline', '"outline" has no argument'],
  ['outlines:src/a.ts', '"outlines" is not a kind of slice'],
  ['Outline:src/a.ts', '"Outline" is not a kind of slice'],
  ['outline:', 'has no argument'],
  ['outline: src/a.ts', 'has a blank after its colon'],
  ['search:"round', 'has a quote that is not closed'],
  ['search:"a"b', 'goes on after its closing quote'],
  ['search:"\\x"', 'not as JSON quotes'],
  ['search:""', 'has an empty argument'],
  ['search:a"b', 'has a quote inside'],
  ['search:round prices', '"prices", which is not an option'],
  ['refs:a limit=0', 'has limit=0, not 1 to 2000'],
  ['find:a limit=51', 'has limit=51, not 1 to 50'],
  ['refs:a limit=2e3', 'has limit=2e3'],
  ['refs:a depth=2', 'gives refs depth, which it does not take'],
  ['refs:a limit=2 limit=3', 'has limit twice'],
  ['refs:a required required', 'has required twice'],
  ['refs:a required=1', 'has a malformed "required=1"'],
  ['refs:a top=2', '"top", which is not an option'],
  ['refs:a __proto__=2', 'which is not an option'],
  ['file:a.ts lines=20-10', 'not as in lines=10-20'],
  ['explore:"x" budget=3', 'has budget=3, not 20 to 32000'],
  ['outline:../other/a.ts', 'contains ".."'],
  ['file:/etc/passwd', 'is absolute'],
  ['file:".git/config"', 'leads into the files of git'],
  ['outline:{task}', 'gives outline {task}, which takes a path'],
  ['search:{plan}', 'gives search {plan}, which takes words'],
  ['refs:{changed}', 'gives refs {changed}, which takes a name'],
  ['refs:{symbol}', 'knows no {symbol}'],
  ['toString:a', 'is not a kind'],
];

for (const [text, words] of BAD) {
  verifies('C-102').test(`${JSON.stringify(text)} is refused`, () => {
    const problem = parseSlice(text);
    expect(problem).toMatchObject({ code: 'wf_context', message: expect.stringContaining(words) });
  });
}

verifies('C-102').test('what YAML has cut is refused with the quoting shown', () => {
  const hints = (yaml: string) =>
    (parseYaml(yaml) as unknown[]).map((item) => {
      const parsed = parseSlice(item);
      return isProblem(parsed) ? parsed.hint : 'fine';
    });
  const quoting = (text: string) =>
    `YAML cuts a plain item at ": ", at " #" and, inside […], at a comma: put it in quotes, as in '${text}'`;
  expect(hints('- refs:std: map')).toEqual([quoting('refs:std: map')]);
  expect(hints('[outline:a.ts, search:"a, b"]')).toEqual(['fine', quoting('search:"a"'), quoting('search:"…, b"')]);
  expect(hints('- search:"it #1"')).toEqual([quoting('search:"it"')]);
  expect(hints('- \'search:"a, b: c"\'')).toEqual(['fine']);
  expect(hints('- { hops: {plan}, depth: 1 }')).toEqual(['YAML takes {plan} for a mapping: write "{plan}" in quotes']);
  expect(hints('- search:round the price')).toEqual(['An argument with blanks is quoted: search:"round the price"']);
});

verifies('C-100').test('a mapping is the same slice', () => {
  const [first, second, third, fourth] = parseYaml(`
- { hops: "{plan}", depth: 1 }
- search: where are prices rounded
  limit: 3
  required: true
- { file: src/a.ts, lines: 1-9, required: false }
- { refs: "{args.name}", budget: 100 }
`).map(parseSlice);
  expect([first, second, third, fourth]).toEqual([
    { kind: 'hops', argument: { from: 'plan' }, depth: 1, required: false, text: 'hops:{plan} depth=1' },
    {
      kind: 'search',
      argument: { text: 'where are prices rounded' },
      limit: 3,
      required: true,
      text: 'search:"where are prices rounded" limit=3 required',
    },
    {
      kind: 'file',
      argument: { text: 'src/a.ts' },
      lines: { from: 1, to: 9 },
      required: false,
      text: 'file:src/a.ts lines=1-9',
    },
    {
      kind: 'refs',
      argument: { from: 'args', name: 'name' },
      budget: 100,
      required: false,
      text: 'refs:{args.name} budget=100',
    },
  ]);
});

verifies('C-102').test('mappings are refused like texts', () => {
  const refused = (item: unknown) => {
    const parsed = parseSlice(item);
    return isProblem(parsed) ? parsed.message : 'fine';
  };
  expect([
    refused({ outline: 'a.ts', refs: 'b' }),
    refused({ limit: 3 }),
    refused({ outline: null }),
    refused({ refs: 'a', limit: '3x' }),
    refused({ refs: 'a', limit: [3] }),
    refused({ file: '../a' }),
    refused(['outline:a']),
    refused(null),
  ]).toEqual([
    expect.stringContaining('several kinds'),
    expect.stringContaining('no kind'),
    'gives outline no argument',
    'has limit=3x, not 1 to 2000',
    'has limit: [3], which is not a value of an option',
    'names the path "../a", which contains ".."',
    'is neither a text nor a mapping',
    'is neither a text nor a mapping',
  ]);
});

test('a budget lies between 200 and 32,000 tokens', () => {
  expect([199, 200, 32_000, 32_001].map((budget) => checkContextBudget(budget)?.message)).toEqual([
    'context_budget is 199, not 200 to 32000 tokens',
    undefined,
    undefined,
    'context_budget is 32001, not 200 to 32000 tokens',
  ]);
});

test('any text is a slice or a problem, and a slice with a quoted argument keeps it', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `search:${rest}`),
      ),
      (text) => {
        const parsed = parseSlice(text);
        return isProblem(parsed) ? parsed.message !== '' : parsed.text === text.trim();
      },
    ),
  );
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (words) => {
      fc.pre(words.trim() !== '');
      const parsed = parseSlice(`search:${JSON.stringify(words)} limit=2`);
      expect(parsed).toMatchObject({ kind: 'search', argument: { text: words }, limit: 2 });
    }),
  );
  expect(Object.keys(SLICE_KINDS).length).toBe(11);
});
