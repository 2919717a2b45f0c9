import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { type Cursor, parseCursor } from './event-log.ts';

const good: [string | undefined, Cursor][] = [
  [undefined, { after: 0 }],
  ['0', { after: 0 }],
  ['812', { after: 812 }],
  ['999999999999999', { after: 999_999_999_999_999 }],
  ['812.00c0ffee', { after: 812, log: '00c0ffee' }],
  ['2026-01-01', { at: '2026-01-01T00:00:00.000Z' }],
  ['2026-01-01T12:30Z', { at: '2026-01-01T12:30:00.000Z' }],
  ['2026-01-01T12:30:05Z', { at: '2026-01-01T12:30:05.000Z' }],
  ['2026-01-01T12:30:05.120+02:00', { at: '2026-01-01T10:30:05.120Z' }],
  // Finer than our clock: cut down, so that a page may repeat but not lose.
  ['2026-01-01T12:30:05.1239Z', { at: '2026-01-01T12:30:05.123Z' }],
];

describe('a cursor', () => {
  test.each(good)('%s is understood', (since, cursor) => expect(parseCursor(since)).toEqual(cursor));

  const bad = [
    '',
    'x',
    '-1',
    '1.5',
    '1.00C0FFEE',
    '1.',
    '.00c0ffee',
    '1e3',
    ' 1',
    '0x1',
    '9999999999999999',
    'yesterday',
    '2026-13-01',
  ];
  for (const since of [...bad, '2026-01-01T25:00Z', '2026-01-01 12:30', 'Thu, 01 Jan 1970 00:00:00 GMT', 'NaN']) {
    verifies('Q-04').test(`"${since}" is refused`, () => {
      expect(() => parseCursor(since)).toThrow(expect.objectContaining({ code: 'bad_cursor' }));
    });
  }

  verifies('Q-04').test('any text is a place in the log or bad_cursor', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789-:TZ.+') })), (since) => {
        try {
          const cursor = parseCursor(since);
          if ('after' in cursor) expect(cursor.after).toBeGreaterThanOrEqual(0);
          else expect(new Date(cursor.at).toISOString()).toBe(cursor.at);
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_cursor' });
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('a message names no more of a bad cursor than needed', () => {
    expect(() => parseCursor('x'.repeat(5000))).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/x{65}/) }),
    );
  });
});
