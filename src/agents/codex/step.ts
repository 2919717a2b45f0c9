import type { z } from 'zod';
import type { Effect } from '../adapter.ts';

/** What one line leads to. */
export interface Step<S> {
  state: S;
  effects: Effect[];
}

export const step = <S>(state: S, ...effects: Effect[]): Step<S> => ({ state, effects });

/** Undefined when the message does not fit its schema. */
export type Handler<S> = (state: S, message: unknown) => Step<S> | undefined;

export function on<S, Z extends z.ZodType>(
  schema: Z,
  handle: (state: S, message: z.infer<Z>) => Step<S> | undefined,
): Handler<S> {
  return (state, message) => {
    const { success, data } = schema.safeParse(message);
    return success ? handle(state, data) : undefined;
  };
}

interface TokenCounts {
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  outputTokens: number;
  reasoningOutputTokens: number;
}

/** Codex counts cached input as input; here each token is counted once. Reasoning stays a part of the output. */
export function usageEffect(counts: TokenCounts, scope: 'more' | 'session'): Effect {
  const { cachedInputTokens: cacheRead, cacheWriteInputTokens: cacheWrite } = counts;
  const { outputTokens: output, reasoningOutputTokens: reasoning } = counts;
  const input = Math.max(0, counts.inputTokens - cacheRead - cacheWrite);
  return {
    do: 'usage',
    report: { tokens: { input, output, cacheRead, cacheWrite, reasoning, scope }, partial: false },
  };
}
