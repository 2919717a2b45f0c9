import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COMPLETE, scriptedAsk } from '../../../test/support/context/scripted-ask.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import type { SliceValues } from './expand.ts';
import {
  definitionLevels,
  exploreLevels,
  fileLevels,
  hopsLevels,
  mapLevels,
  outlineLevels,
  referenceLevels,
  searchLevels,
  treeLevels,
} from './levels.ts';
import { isProblem, parseSlice } from './parse-slice.ts';
import { type RenderedContext, renderSlices } from './render-slices.ts';
import type { Slice } from './slice.ts';

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;
const values: SliceValues = { task: 'round the prices', plan: [], changed: [], args: {} };

function slicesOf(...texts: string[]): Slice[] {
  return texts.map((text) => {
    const parsed = parseSlice(text);
    if (isProblem(parsed)) throw new Error(`${text} ${parsed.message}`);
    return parsed;
  });
}

interface Asking {
  slices: string[];
  size?: number;
  budget?: number;
  values?: Partial<SliceValues>;
}

function render({ slices, size, budget, values: more }: Asking): Promise<RenderedContext> {
  const { ask } = scriptedAsk(size === undefined ? {} : { size });
  return renderSlices({ slices: slicesOf(...slices), budget, values: { ...values, ...more }, ask, count: words });
}

const ALL = [
  'outline:src/a.ts',
  'tree:src depth=2',
  'symbol:total',
  'source:total',
  'refs:total limit=2',
  'find:tot limit=9',
  'search:"round up" limit=1',
  'explore:"where?"',
  'map:{task}',
  'hops:src/a.ts depth=3',
  'file:src/a.ts lines=2-3',
];

verifies('C-100').test(
  'every kind asks its tool and is shown under a heading with stage and completeness',
  async () => {
    const { ask, asked } = scriptedAsk({ size: 2 });
    const plan = { plan: ['src/p.ts'], changed: ['src/c.ts'] };
    const { text, complete, degraded } = await renderSlices({
      slices: slicesOf(...ALL),
      values: { ...values, ...plan },
      ask,
      count: words,
    });
    const files = ['src/c.ts', 'src/p.ts'];
    expect(asked).toEqual([
      ['outline', 'src/a.ts'],
      ['tree', 'src', 2],
      ['symbol', 'total', false],
      ['symbol', 'total', true],
      ['references', 'total', 2],
      ['find', 'tot', 9],
      ['search', 'round up', 1],
      ['explore', 'where?', { budget_tokens: 500, files }],
      ['explore', 'round the prices', { budget_tokens: 500, files }],
      ['hops', 'src/a.ts', 3],
      ['file', 'src/a.ts'],
    ]);
    expect([complete, degraded]).toEqual([true, []]);
    expect(text).toBe(`#### outline:src/a.ts (stage 2, complete)
1: class Box
2: function name1(a: number)
3:   open(): void
4: function name2(a: number)
5: interface Lid
7: const MOST

#### tree:src depth=2 (stage 2, complete)
src/f1.ts
  1: function name1()
src/f2.ts
  2: function name2()

#### symbol:total (stage 2, complete)
src/f1.ts:1 function name1(a: number): number
src/f2.ts:2 function name2(a: number): number

#### source:total (stage 2, complete)
src/f1.ts:1 function
function name1(a: number): number {
  return a * 1;
}
src/f2.ts:2 function
function name2(a: number): number {
  return a * 2;
}

#### refs:total limit=2 (stage 2, complete)
src/f1.ts:1 Call exact: total(1);
src/f2.ts:2 Call exact: total(2);

#### find:tot limit=9 (stage 2, complete)
src/f1.ts:1 function name1(a: number): number
src/f2.ts:2 function name2(a: number): number

#### search:"round up" limit=1 (stage 2, complete)
src/f1.ts:1
  before
    round up
  after
src/f2.ts:2
  before
    round up
  after

#### explore:"where?" (stage 2, complete)
src/f1.ts:1-2 (names it)
function name1() {
}
src/f2.ts:2-3 (names it)
function name2() {
}
left out: src/z.ts

#### map:{task} (stage 2, complete)
src/f1.ts
  name1
src/f2.ts
  name2

#### hops:src/a.ts depth=3 (stage 2, complete)
src/f1.ts (import, 1 hop)
src/f2.ts (import, 1 hop)

#### file:src/a.ts lines=2-3
line 2 of src/a.ts`);
  },
);

verifies('C-100').test(
  'planned and changed files give one slice each, twenty at most; arguments stand for names',
  async () => {
    const plan = Array.from({ length: 23 }, (_, index) => `src/p${index}.ts`);
    const { text, degraded } = await render({
      slices: [
        'outline:{plan}',
        'file:{changed} lines=1-1',
        'refs:{args.symbol}',
        'refs:{args.names} limit=1',
        'hops:{changed}',
      ],
      size: 1,
      budget: 32_000,
      values: { plan, changed: ['a b.ts'], args: { symbol: 'total', names: ['x', 'y'] } },
    });
    const headings = text.split('\n').filter((line) => line.startsWith('####'));
    expect(headings.map((line) => line.replace(/ \(stage.*/, ''))).toEqual([
      ...plan.slice(0, 20).map((path) => `#### outline:${path}`),
      '#### outline:{plan}',
      '#### file:"a b.ts" lines=1-1',
      '#### refs:total',
      '#### refs:x limit=1',
      '#### refs:y limit=1',
      '#### hops:"a b.ts"',
    ]);
    expect([text.includes('#### outline:{plan}\n(3 more files)'), degraded]).toEqual([true, []]);
  },
);

verifies('C-100').test('no planned files is nothing to show and no failure', async () => {
  expect(await render({ slices: ['outline:{plan} required'] })).toEqual({
    text: '#### outline:{plan} required\n(no files)',
    tokens: 5,
    complete: true,
    degraded: [],
  });
});

verifies('C-101').test('a slice shrinks by level, marked, and names are cut between lines', async () => {
  const first = async (budget: number) =>
    (await render({ slices: ['source:total'], size: 8, budget })).text.split('\n');
  const levels = [await first(200), await first(60), await first(30), await first(16), await first(10), await first(4)];
  expect(levels.map((lines) => [lines[0], lines.length, lines.at(-1)])).toEqual([
    ['#### source:total (stage 2, complete)', 33, '}'],
    ['#### source:total (stage 2, complete, shrunk to signatures)', 9, 'src/f8.ts:8 function name8(a: number): number'],
    ['#### source:total (stage 2, complete, shrunk to names)', 9, 'src/f8.ts:8 Box.name8'],
    ['#### source:total (stage 2, complete, shrunk to names)', 4, '… 6 more'],
    ['#### source:total (stage 2, complete, shrunk to count)', 2, '8 definitions'],
    ['', 1, ''],
  ]);
});

verifies('C-101').test('of what was explored the least goes first, in whole, and is named', async () => {
  const { text } = await render({ slices: ['explore:"where?"'], size: 4, budget: 26 });
  expect(text).toBe(`#### explore:"where?" (stage 2, complete)
src/f1.ts:1-2 (names it)
function name1() {
}
src/f2.ts:2-3 (names it)
function name2() {
}
left out: src/f3.ts:3-4, src/f4.ts:4-5, src/z.ts`);
});

verifies('C-101').test('a file that does not fit shrinks to its outline', async () => {
  const { text } = await render({ slices: ['file:src/a.ts'], size: 30, budget: 100 });
  expect(text.split('\n').slice(0, 3)).toEqual(['#### file:src/a.ts (shrunk to names)', '1: Box', '2: name1']);
});

verifies('C-101').test('own budgets come first, the rest is shared, and what one leaves goes on', async () => {
  const texts = async (slices: string[], budget: number) =>
    (await render({ slices, size: 40, budget })).text.split('\n\n').map((part) => [part.split('\n')[0], words(part)]);
  const [small, large] = await texts(['find:a', 'refs:b budget=40'], 400);
  expect([small, large]).toEqual([
    ['#### find:a (stage 2, complete)', 205],
    ['#### refs:b budget=40 (stage 2, complete, shrunk to names)', 19],
  ]);
  const [hungry] = await texts(['find:a', 'find:b'], 300);
  const [, fed] = await texts(['outline:{plan}', 'find:b'], 300);
  expect([hungry?.[0], fed?.[0]]).toEqual([
    '#### find:a (stage 2, complete, shrunk to names)',
    '#### find:b (stage 2, complete)',
  ]);
});

verifies('C-101').test('slices without room are counted, whatever their number', async () => {
  const { text, tokens } = await render({
    slices: Array.from({ length: 60 }, (_, index) => `find:n${index}`),
    budget: 200,
  });
  expect(tokens).toBeLessThanOrEqual(200);
  expect(text).toMatch(/\(\d+ of 60 slices left out: no room\)$/);
});

const exact = await loadTokenCounter();
const counters = {
  exact: (text: string) => exact.count(text),
  words,
  bytes: (text: string) => Buffer.byteLength(text),
  /** One whose parts add up to less than the whole, as a tokenizer's may. */
  unfair: (text: string) => Math.ceil(text.length ** 1.05 / 4),
};

/** Every line any level of any answer has. */
async function linesOf({ ask }: ReturnType<typeof scriptedAsk>): Promise<Set<string>> {
  const explored = await ask.explore('where?', { budget_tokens: 500, files: [] });
  const outline = outlineLevels(await ask.outline('src/a.ts'));
  const answers = [
    outline,
    treeLevels(await ask.tree('src')),
    definitionLevels(await ask.symbol('total', true)),
    referenceLevels(await ask.references('total')),
    referenceLevels(await ask.references('x')),
    searchLevels(await ask.search('round up')),
    exploreLevels(explored),
    mapLevels(explored),
    hopsLevels(await ask.hops('src/a.ts')),
    fileLevels(await ask.file('src/a.ts'), undefined, outline),
  ];
  return new Set(answers.flatMap(({ levels }) => levels.flatMap(({ lines }) => lines)));
}

for (const [name, count] of Object.entries(counters)) {
  verifies('C-101', 'C-104').test(
    `whatever is asked for stays within the budget, in whole lines, the same each time (${name})`,
    async () => {
      const kinds = fc.constantFrom(...ALL, 'refs:x budget=90', 'outline:{plan}', 'file:gone.ts');
      const arbitrary = fc.record({
        slices: fc.array(kinds, { maxLength: 14 }),
        size: fc.integer({ min: 0, max: 60 }),
        budget: fc.integer({ min: 200, max: 3_000 }),
      });
      const property = fc.asyncProperty(arbitrary, async ({ slices, size, budget }) => {
        const request = {
          slices: slicesOf(...slices),
          budget,
          values: { ...values, plan: ['src/p.ts', 'src/q.ts'] },
          count,
        };
        const once = await renderSlices({ ...request, ask: scriptedAsk({ size }).ask });
        const known = await linesOf(scriptedAsk({ size }));
        const isOurs = (line: string) => line === '' || /^(#### |… \d+ more$|\(not available|\(\d+ of)/.test(line);
        expect(await renderSlices({ ...request, ask: scriptedAsk({ size }).ask })).toEqual(once);
        expect(once.tokens).toBe(count(once.text));
        expect(once.tokens).toBeLessThanOrEqual(budget);
        expect(once.text.split('\n').filter((line) => !known.has(line) && !isOurs(line))).toEqual([]);
        expect(once.text).not.toMatch(/secret|2026/);
      });
      await fc.assert(property, { numRuns: name === 'exact' ? 40 : 100 });
    },
  );
}

verifies('C-103').test('a slice that cannot be had says so, and the others are shown', async () => {
  const rendered = await render({
    slices: ['outline:gone.ts', 'file:gone.ts', 'refs:{args.nothing}', 'hops:{args.out}', 'find:a'],
    size: 1,
    values: { args: { out: '../x' } },
  });
  expect(rendered).toEqual({
    text: `#### outline:gone.ts
(not available: There is no gone.ts.)

#### file:gone.ts
(not available: There is no gone.ts.)

#### refs:{args.nothing}
(not available: The block has no argument nothing that is a text.)

#### hops:../x
(not available: The path "../x" contains "...)

#### find:a (stage 2, complete)
src/f1.ts:1 function name1(a: number): number`.replace('"...)', '"..".)'),
    tokens: expect.any(Number),
    complete: false,
    degraded: [
      { slice: 'outline:gone.ts', code: 'file_not_found', message: 'There is no gone.ts.' },
      { slice: 'file:gone.ts', code: 'file_not_found', message: 'There is no gone.ts.' },
      { slice: 'refs:{args.nothing}', code: 'bad_arguments', message: expect.any(String) },
      { slice: 'hops:../x', code: 'path_outside_worktree', message: expect.any(String) },
    ],
  });
});

verifies('C-103').test('a required slice that cannot be had is refused by name', async () => {
  await expect(render({ slices: ['find:a', 'outline:gone.ts required'] })).rejects.toMatchObject({
    code: 'context_unavailable',
    message: 'The slice outline:gone.ts required is required and could not be read: There is no gone.ts.',
    details: { slice: 'outline:gone.ts required', code: 'file_not_found' },
  });
});

test('an answer that is incomplete, or of a server that does not tell, says so', async () => {
  const heading = async (basis: typeof COMPLETE) => {
    const { ask } = scriptedAsk({ size: 1, basis });
    const { text, complete } = await renderSlices({
      slices: slicesOf('refs:a'),
      values,
      ask,
      count: words,
    });
    return [text.split('\n')[0], complete];
  };
  expect([
    await heading({ ...COMPLETE, stage: 1, complete: false, pending: 12 }),
    await heading({ ...COMPLETE, complete: false }),
    await heading({ ...COMPLETE, complete: false, engine: 'foreign' }),
  ]).toEqual([
    ['#### refs:a (stage 1, incomplete: 12 files pending)', false],
    ['#### refs:a (stage 2, incomplete)', false],
    ['#### refs:a (perhaps incomplete)', false],
  ]);
});

test('nothing found is said in words', async () => {
  const { text } = await render({ slices: ['refs:nobody', 'search:"no such"', 'hops:a.ts'], size: 0 });
  expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
    '0 references in 0 files',
    '0 hits',
    '0 files',
  ]);
});
