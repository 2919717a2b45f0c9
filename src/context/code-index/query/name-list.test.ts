import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.ts';
import { isOneTypo, Names, rankNames } from './name-list.ts';

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
  expect(rankNames(new Names(NAMES), 'gQS')).toEqual([
    ...['gQS', 'gqs', 'gQSmart', 'getQuerySet', 'get_query_set', 'grabQuickSand', 'getQueryString', 'GetQuerySetModel'],
    ...['gathers quinces slowly', 'sgq'].filter((name) => name !== 'sgq'),
  ]);
  expect(rankNames(new Names(['roundPrice', 'roundPrices', 'other']), 'roundPirce')).toEqual(['roundPrice']);
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
      expect(isOneTypo(typo(text, at, kind), text)).toBe(true);
      expect(isOneTypo(text, text)).toBe(false);
    }),
  );
  expect([isOneTypo('abcd', 'abdc'), isOneTypo('abcd', 'badc')]).toEqual([true, false]);
});
