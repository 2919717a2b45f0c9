import type { Budget, Job, Usage } from '../protocol/jobs.ts';
import type { UsageReport } from './adapter.ts';
import type { BudgetUse, SessionTotals } from './job-runtime.ts';

export const noUsage: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd: null,
  partial: false,
};

const TOKEN_KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;

/** What a running total grew by. A smaller one than before means that the agent began anew. */
function growth(total: number, before: number): number {
  return total >= before ? total - before : total;
}

export function addUsage(
  usage: Usage,
  totals: SessionTotals,
  report: UsageReport,
): { usage: Usage; totals: SessionTotals } {
  const sum = { ...usage, partial: usage.partial || report.partial };
  const seen = { ...totals };
  for (const kind of TOKEN_KINDS) {
    const value = report.tokens?.[kind] ?? 0;
    const isTotal = report.tokens?.scope === 'session';
    sum[kind] += isTotal ? growth(value, seen[kind]) : value;
    if (isTotal) seen[kind] = value;
  }
  if (report.cost) {
    const { usd, scope } = report.cost;
    sum.costUsd = (sum.costUsd ?? 0) + (scope === 'session' ? growth(usd, seen.costUsd) : usd);
    if (scope === 'session') seen.costUsd = usd;
  }
  return { usage: sum, totals: seen };
}

/** Each limited measure of a family of jobs: children count against their root. */
export function budgetUses(budget: Budget, family: Job[]): BudgetUse[] {
  const used = { tokens: 0, turns: 0, seconds: 0 };
  for (const job of family) {
    used.tokens += job.usage.input + job.usage.output;
    used.turns += job.turns;
    used.seconds += Math.floor(job.workedMs / 1000);
  }
  const limits = Object.entries(budget) as [keyof Budget, number][];
  return limits.map(([what, limit]) => ({ what, used: used[what], limit }));
}
