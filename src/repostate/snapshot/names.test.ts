import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { identifiersIn, namesOf, RecentNames } from './names.ts';

verifies('S-13').test('a name is an identifier of six or more characters', () => {
  expect([...identifiersIn('const taxes = applyTax(rate_table, 12, short) // src/orders/total.ts')]).toEqual([
    'applyTax',
    'rate_table',
    'orders',
  ]);
});

verifies('S-13').test('what calls name comes before what only thoughts name; prose is no name', () => {
  expect(namesOf(['grep applyTax src'], 'Because `roundHalfEven` and applyTax matter, rate_table2 too')).toEqual({
    called: ['applyTax'],
    thought: ['roundHalfEven', 'rate_table2'],
  });
});

verifies('S-13').test('the newest come first, a name used again is new again, and what is shown is left out', () => {
  const book = new RecentNames();
  book.add({ called: ['oldest', 'second'], thought: ['thoughtOne'] });
  book.add({ called: ['newest'], thought: [] });
  book.add({ called: ['oldest'], thought: ['second'] });
  expect(book.candidates((name) => name === 'newest')).toEqual(['oldest', 'second', 'thoughtOne']);
});
