import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { tooLarge, workersUnder } from './limits.ts';

verifies('C-043').test('the ceiling and the cores bound the workers, and one there always is', () => {
  const cases = [
    { ceilingMb: 64, cores: 8, workers: 1 },
    { ceilingMb: 256, cores: 8, workers: 1 },
    { ceilingMb: 351, cores: 8, workers: 1 },
    { ceilingMb: 352, cores: 8, workers: 2 },
    { ceilingMb: 512, cores: 8, workers: 3 },
    { ceilingMb: 512, cores: 2, workers: 1 },
    { ceilingMb: 512, cores: 1, workers: 1 },
    { ceilingMb: 4096, cores: 16, workers: 15 },
  ];
  const found = cases.map(({ ceilingMb, cores }) => ({ ceilingMb, cores, workers: workersUnder(ceilingMb, cores) }));
  expect(found).toEqual(cases);
});

verifies('C-015').test('a file over 1 MiB or with a line over 64 KiB is known without parsing', () => {
  const mib = 1024 * 1024;
  const short = Buffer.from(`${'x'.repeat(79)}\n`.repeat(mib / 80 + 1)).subarray(0, mib);
  const line = 64 * 1024;
  expect({
    exactly: tooLarge(short),
    over: tooLarge(Buffer.concat([short, Buffer.from('x')])),
    longest: tooLarge(Buffer.from(`a\n${'x'.repeat(line)}\nb`)),
    tooLong: tooLarge(Buffer.from(`a\n${'x'.repeat(line + 1)}\nb`)),
    lastTooLong: tooLarge(Buffer.from(`a\n${'x'.repeat(line + 1)}`)),
    oneLine: tooLarge(Buffer.from('x'.repeat(mib))),
    empty: tooLarge(Buffer.alloc(0)),
  }).toEqual({
    exactly: undefined,
    over: { skipped: 'too_large' },
    longest: undefined,
    tooLong: { skipped: 'long_line' },
    lastTooLong: { skipped: 'long_line' },
    oneLine: { skipped: 'long_line' },
    empty: undefined,
  });
});
