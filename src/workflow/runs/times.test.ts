import { expect, test } from 'vitest';
import type { RunView } from '../../protocol/workflow.ts';
import { timesOf } from './times.ts';

const amounts = (seconds: number) => ({ tokens: 0, turns: 0, seconds, usd: 0 });
const log = {
  'Main__Code#1': { jobId: 'j1', spent: amounts(2.5) },
  'Main__Test#1': { spent: amounts(20), took: { setUp: 16, gate: 3.5 } },
} as unknown as RunView['executionLog'];
const createdAt = '2026-01-01T00:00:00Z';

test('the seconds of a run are told apart, and what is left is the rest', () => {
  const times = timesOf({ executionLog: log }, { createdAt, endedAt: '2026-01-01T00:00:40Z', setUp: 15 });
  expect(times).toEqual({ setUp: 31, agents: 2.5, gates: 3.5, rest: 3 });
});

test('branches side by side leave no rest below nothing', () => {
  expect(timesOf({ executionLog: log }, { createdAt, endedAt: createdAt, setUp: 0 }).rest).toBe(0);
});
