import type { Usage } from '../protocol/jobs.ts';
import type { UsageSum } from '../protocol/record-operations.ts';

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;

export const nothingUsed: UsageSum = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  costUsd: null,
  partial: false,
  jobs: 0,
  unpriced: 0,
};

export function addJob(sum: UsageSum, usage: Usage): UsageSum {
  const tokens = Object.fromEntries(KINDS.map((kind) => [kind, sum[kind] + usage[kind]]));
  const isPriced = usage.costUsd !== null;
  return {
    ...sum,
    ...tokens,
    costUsd: isPriced ? (sum.costUsd ?? 0) + (usage.costUsd ?? 0) : sum.costUsd,
    partial: sum.partial || usage.partial,
    jobs: sum.jobs + 1,
    unpriced: sum.unpriced + (isPriced || tokensOf(usage) === 0 ? 0 : 1),
  };
}

export function tokensOf({ input, output, cacheRead, cacheWrite }: Usage): number {
  return input + output + cacheRead + cacheWrite;
}
