import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { NameList, Names } from './name-list.ts';

const matching = (names: readonly string[], query: string) => {
  const store = {
    generation: 1,
    *defined() {},
    *definedInMemory() {
      yield { oid: '', lang: 'go', names, imports: [] };
    },
  };
  return new NameList(store).matching(query);
};

const NAMES = [
  'getQuerySet',
  'get_query_set',
  'GetQuerySetModel',
  'gqs',
  'gQS',
  'gQSmart',
  'grabQuickSand',
  'getQueryString',
  'sgq',
  'gathers quinces slowly',
];

verifies('C-066').test('names rank by exact, prefix, humps, subsequence and one typo, the shorter first', () => {
  expect(matching(NAMES, 'gQS')).toEqual([
    ...['gQS', 'gqs', 'gQSmart', 'getQuerySet', 'get_query_set', 'grabQuickSand', 'getQueryString', 'GetQuerySetModel'],
    ...['gathers quinces slowly', 'sgq'].filter((name) => name !== 'sgq'),
  ]);
  expect(matching(['roundPrice', 'roundPrices', 'other'], 'roundPirce')).toEqual(['roundPrice']);
});

verifies('C-066').test('one typo is a letter more, less, other or swapped', () => {
  const typo = (text: string, at: number, kind: number) => {
    const cut = at % text.length;
    if (kind === 0) return `${text.slice(0, cut)}${text.slice(cut + 1)}`;
    if (kind === 1) return `${text.slice(0, cut)}~${text.slice(cut)}`;
    return `${text.slice(0, cut)}~${text.slice(cut + 1)}`;
  };
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{3,12}$/), fc.nat(), fc.nat(2), (text, at, kind) => {
      expect(matching([text], typo(text, at, kind))).toEqual([text]);
    }),
  );
  expect([matching(['abcd'], 'abdc'), matching(['abcd'], 'badc')]).toEqual([['abcd'], []]);
});

verifies('C-066').test('names are kept once each, as they are written, whatever their letters and number', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 3_000 }), (texts) => {
      const names = new Names();
      for (const text of texts) names.add(text);
      const kept = Array.from({ length: names.count }, (_, at) => names.text(at));
      expect(kept).toEqual([...new Set(texts)]);
    }),
    { numRuns: 20 },
  );
});
