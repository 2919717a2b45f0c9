import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aJob } from '../../test/support/job-storage.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { Usage } from '../protocol/jobs.ts';
import type { Json, UsageReport } from './adapter.ts';
import { codexExecAdapter } from './codex/exec-adapter.ts';
import { freshRuntime } from './job-runtime.ts';
import { addUsage, budgetUses, noUsage } from './usage.ts';

const { sessionTotals: noTotals } = freshRuntime();
const tokens = (input: number, output = 0) => ({ input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 });
const total = (input: number, output = 0): UsageReport => ({
  tokens: { ...tokens(input, output), scope: 'session' },
  partial: false,
});
const more = (input: number, output = 0): UsageReport => ({
  tokens: { ...tokens(input, output), scope: 'more' },
  partial: false,
});
const costs = (usd: number, scope: 'more' | 'session'): UsageReport => ({ cost: { usd, scope }, partial: false });

function sum(reports: UsageReport[]): Usage {
  let counted = { usage: noUsage, totals: noTotals };
  for (const report of reports) counted = addUsage(counted.usage, counted.totals, report);
  return counted.usage;
}

describe('tokens', () => {
  verifies('A-77').test('running totals of 100, 300 and 400 are 400 in all', () => {
    expect(sum([total(100), total(300), total(400)])).toEqual({ ...noUsage, input: 400 });
  });

  verifies('A-77').test('a smaller total is a new beginning', () => {
    expect(sum([total(100, 10), total(300, 30), total(50, 5), total(60, 7)])).toEqual({
      ...noUsage,
      input: 360,
      output: 37,
    });
  });

  verifies('A-77').test('an equal total adds nothing', () => {
    expect(sum([total(100), total(100)])).toEqual({ ...noUsage, input: 100 });
  });

  test('what an agent reports per turn is added', () => {
    expect(sum([more(100, 1), more(300, 2)])).toEqual({ ...noUsage, input: 400, output: 3 });
  });

  test('what was once partial stays partial', () => {
    expect(sum([{ ...more(1), partial: true }, more(1)])).toEqual({ ...noUsage, input: 2, partial: true });
  });
});

describe('money', () => {
  test('unknown is not nothing', () => {
    expect(sum([more(5)]).costUsd).toBe(null);
  });

  verifies('A-77').test("a session's cost counts as its growth", () => {
    expect(sum([costs(0.25, 'session'), costs(0.75, 'session'), costs(0.5, 'session')])).toEqual({
      ...noUsage,
      costUsd: 1.25,
    });
  });

  test('a cost per turn is added', () => {
    expect(sum([costs(0.25, 'more'), costs(0.5, 'more')])).toEqual({ ...noUsage, costUsd: 0.75 });
  });
});

/** What the real CLI reported in three launches of one session. */
function recordedReports(name: string): UsageReport[] {
  const file = new URL(`../../test/fixtures/agents/codex/${name}.jsonl`, import.meta.url);
  let state = codexExecAdapter.initial(
    { jobId: 'J', cwd: '/repo', freshSessionId: 'f', prompt: '', clientVersion: '0' },
    { command: ['codex'], agentSandbox: true, settings: {} },
  );
  const reports: UsageReport[] = [];
  for (const entry of readFileSync(file, 'utf8').trim().split('\n')) {
    const { dir, line } = JSON.parse(entry) as { dir: string; line?: string };
    if (dir !== 'out' || line === undefined) continue;
    const read = codexExecAdapter.parse(state, { stream: 'out', json: JSON.parse(line) as Json, skeleton: false });
    state = read.state;
    for (const effect of read.effects)
      if (effect.do === 'usage' && effect.report.tokens?.scope !== 'ahead') reports.push(effect.report);
  }
  return reports;
}

verifies('A-77').test('three recorded launches of one Codex session count their thread once', () => {
  const launches = ['resume-1', 'resume-2', 'resume-3-last'].map(recordedReports);
  const told = launches.map((reports) => reports.map((report) => report.tokens?.input));
  expect(told).toEqual([[100], [300], [400]]);
  let counted = { usage: noUsage, runtime: freshRuntime() };
  for (const reports of launches) {
    const runtime = freshRuntime(counted.runtime);
    for (const report of reports) {
      const { usage, totals } = addUsage(counted.usage, runtime.sessionTotals, report);
      counted = { usage, runtime: { ...runtime, sessionTotals: totals } };
    }
  }
  expect(counted.usage.input).toBe(400);
});

verifies('A-77').test('the sum of growing totals is the last one, however often they are told', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000), { minLength: 1 }), (values) => {
      const growing = values.toSorted((a, b) => a - b);
      expect(sum(growing.map((value) => total(value))).input).toBe(growing.at(-1));
    }),
  );
});

const job = ({ input, ...used }: { input: number; turns: number; workedMs: number }) => ({
  job: aJob('J', { usage: { ...noUsage, input, output: 1, cacheRead: 1_000_000 }, ...used }),
  runtime: freshRuntime(),
});

verifies('A-76').test('a family is measured together, in every measure that is limited and no other', () => {
  const family = [job({ input: 100, turns: 2, workedMs: 1999 }), job({ input: 50, turns: 3, workedMs: 2000 })];
  expect([budgetUses({ tokens: 1000, turns: 9, seconds: 60 }, family), budgetUses({ turns: 9 }, family)]).toEqual([
    [
      { what: 'tokens', used: 152, limit: 1000 },
      { what: 'turns', used: 5, limit: 9 },
      { what: 'seconds', used: 3, limit: 60 },
    ],
    [{ what: 'turns', used: 5, limit: 9 }],
  ]);
});
