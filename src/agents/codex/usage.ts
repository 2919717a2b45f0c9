import type { Effect } from '../adapter.ts';

interface Counts {
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
}

/** Codex counts cached input as input; here each token is counted once. Reasoning stays a part of the output. */
export function usageEffect(counts: Counts, scope: 'more' | 'session'): Effect {
  const { cached: cacheRead, cacheWrite, output, reasoning } = counts;
  const input = Math.max(0, counts.input - cacheRead - cacheWrite);
  return {
    do: 'usage',
    report: { tokens: { input, output, cacheRead, cacheWrite, reasoning, scope }, partial: false },
  };
}
