import type { UsageReport } from '../adapter.ts';
import type { PromptResult } from './messages.ts';

/** `result.usage` means the turn for some agents and its last request for others; only tried ones are trusted. */
const reportsWholeTurn = (agent: string) => agent.endsWith('claude-agent-acp') || agent === 'gemini-cli';

export function turnUsage(agent: string, { usage, _meta }: PromptResult): UsageReport {
  const none = { cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' } as const;
  const quota = _meta?.quota?.token_count;
  if (usage) {
    const tokens = {
      ...none,
      input: usage.inputTokens ?? 0,
      output: usage.outputTokens ?? 0,
      cacheRead: usage.cachedReadTokens ?? 0,
      cacheWrite: usage.cachedWriteTokens ?? 0,
      reasoning: usage.thoughtTokens ?? 0,
    };
    return { tokens, partial: !reportsWholeTurn(agent) };
  }
  if (quota && (quota.input_tokens ?? quota.output_tokens ?? null) !== null) {
    const tokens = { ...none, input: quota.input_tokens ?? 0, output: quota.output_tokens ?? 0 };
    return { tokens, partial: !reportsWholeTurn(agent) };
  }
  return { partial: true };
}

/** Money is told as the session's total. */
export function costReport(agent: string, usd: number): UsageReport {
  return { cost: { usd, scope: 'session' }, partial: !reportsWholeTurn(agent) };
}
