import { expect, test } from 'vitest';
import type { OperationOutput } from '../../protocol/operations.ts';
import { codeAnswer } from './code.ts';
import { createStyle } from './style.ts';

const style = createStyle({ colour: false, width: 100, now: new Date(0) });
const basis = { stage: 2, complete: true, pending: 0, skipped: 0, head: 'a'.repeat(40), dirtyFiles: 0 };

test('of the places that had no room the best eight are named, and how to see more', () => {
  const left_out = Array.from({ length: 50 }, (_, n) => `src/f${n}.ts:${n}`);
  const answer = { slices: [], map: '', tokens: 990, left_out, basis } as unknown as OperationOutput<'explore_code'>;
  const shown = codeAnswer('explore_code', answer, { ...style, names: () => '--budget' });
  expect(shown.split('\n').slice(0, 2)).toEqual([
    `990 tokens; left out: ${left_out.slice(0, 8).join(', ')}`,
    'and 42 more places: a larger --budget shows more',
  ]);
});
