import type { Budget, Usage } from '../protocol/jobs.ts';
import type { JobRecord } from '../store/job-table.ts';
import type { UsageReport } from './adapter.ts';
import type { BudgetUse, JobRuntime, SessionTotals, Tokens } from './job-runtime.ts';

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

export function addTokens(before: Tokens | null, more: Tokens): Tokens {
  const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  for (const kind of TOKEN_KINDS) sum[kind] = (before?.[kind] ?? 0) + more[kind];
  return sum;
}

/** All that is known to be used, a turn under way included. It is partial until the agent has told the sum. */
export function usageSoFar({ job, runtime }: JobRecord<JobRuntime>): Usage {
  return runtime.ahead ? { ...job.usage, ...addTokens(job.usage, runtime.ahead), partial: true } : job.usage;
}

/** Each limited measure of a family of jobs: children count against their root. */
export function budgetUses(budget: Budget, family: JobRecord<JobRuntime>[]): BudgetUse[] {
  const used = { tokens: 0, turns: 0, seconds: 0 };
  for (const record of family) {
    const { job } = record;
    const usage = usageSoFar(record);
    used.tokens += usage.input + usage.output;
    used.turns += job.turns;
    used.seconds += Math.floor(job.workedMs / 1000);
  }
  const limits = Object.entries(budget) as [keyof Budget, number][];
  return limits.map(([what, limit]) => ({ what, used: used[what], limit }));
}
