import { describe, expect, test } from 'vitest';
import { namedPath } from './description.ts';

describe('a path in the description of an agent', () => {
  const env = { HOME: '/home/me', AT: '/at', EMPTY: '' };
  test.for([
    ['~/.x', '/home/me/.x'],
    ['$AT', '/at'],
    ['$AT/y/z', '/at/y/z'],
    ['$EMPTY', undefined],
    ['$EMPTY/y', undefined],
    ['$ABSENT/y', undefined],
    ['/x', '/x'],
    ['x', 'x'],
  ])('%s is %s', ([name = '', path]) => expect(namedPath(name, env)).toBe(path));

  test('is nowhere without a home', () =>
    expect([{}, { HOME: '' }].map((none) => namedPath('~/x', none))).toEqual([undefined, undefined]));
});
