import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createLogger, type Level, limited } from './log.ts';
import { createRedactor } from './redact.ts';

function recording(level?: Level) {
  const lines: string[] = [];
  const logger = createLogger({
    write: (line) => lines.push(line),
    clock: manualClock(new Date('2026-01-02T03:04:05.006Z')),
    redact: createRedactor(['topsecret1']),
    ...(level && { level }),
  });
  return { logger, entries: () => lines.map((line) => JSON.parse(line)), lines };
}

test('an entry is one line of JSON that begins with time, level and message', () => {
  const { logger, lines } = recording();
  logger.debug('not shown');
  logger.info('started', { pid: 7, level: 'forged' });
  expect(lines).toEqual(['{"time":"2026-01-02T03:04:05.006Z","level":"info","message":"started","pid":7}\n']);
});

verifies('X-50').test('no secret reaches the log, not in messages, fields, keys or errors', () => {
  const { logger, lines } = recording('debug');
  const error = new Error('bad topsecret1', { cause: new TypeError('topsecret1 inside') });
  logger.debug('with topsecret1', { topsecret1: ['topsecret1'], error });
  expect(lines.join('')).not.toContain('topsecret1');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'debug',
    message: 'with [redacted]',
    '[redacted]': ['[redacted]'],
    error: { name: 'Error', message: 'bad [redacted]', cause: { name: 'TypeError', message: '[redacted] inside' } },
  });
});

test('whatever is logged, logging does not throw and a line stays bounded', () => {
  const { logger, entries, lines } = recording();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  logger.warn('odd', {
    cycle,
    big: 1n,
    symbol: Symbol('s'),
    call: () => 1,
    date: new Date(0),
    wrong: new Date(Number.NaN),
  });
  logger.error('x'.repeat(100_000));
  expect(entries()[0]).toMatchObject({ big: '1', symbol: 'Symbol(s)', date: '1970-01-01T00:00:00.000Z', wrong: null });
  expect(lines.every((line) => Buffer.byteLength(line) <= 16 * 1024 + 1)).toBe(true);
});

test('below the chosen level nothing is written', () => {
  const { logger, entries } = recording('error');
  logger.debug('a');
  logger.info('b');
  logger.warn('c');
  logger.error('d');
  expect(entries().map(({ level, message }) => [level, message])).toEqual([['error', 'd']]);
});

verifies('Q-05').test('the first failure is told at once, the others once a minute with their count', async () => {
  const clock = manualClock();
  const told: unknown[] = [];
  const report = limited<string>(clock, (latest, count) => told.push([clock.monotonicMs(), latest, count]));
  for (let second = 0; second <= 130; second++) {
    report(`failure ${second}`);
    await clock.advance(1_000);
  }
  expect(told).toEqual([
    [0, 'failure 0', 1],
    [60_000, 'failure 60', 60],
    [120_000, 'failure 120', 60],
  ]);
});
