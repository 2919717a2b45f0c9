import type { Amounts } from '../../protocol/workflow.ts';

export const NOTHING: Amounts = { tokens: 0, turns: 0, seconds: 0, usd: 0 };

/** An unknown cost makes the sum unknown, never 0. */
export function addAmounts(a: Amounts, b: Amounts): Amounts {
  return {
    tokens: a.tokens + b.tokens,
    turns: a.turns + b.turns,
    seconds: a.seconds + b.seconds,
    usd: a.usd === null || b.usd === null ? null : a.usd + b.usd,
  };
}

/** A visit that went on after a rate limit is one visit: its job tells what it spent in all. */
export function accountOf(visitKey: string): string {
  const at = visitKey.lastIndexOf('~');
  return at < 0 ? visitKey : visitKey.slice(0, at);
}

export function sumAmounts(amounts: Iterable<Amounts>): Amounts {
  let sum = NOTHING;
  for (const each of amounts) sum = addAmounts(sum, each);
  return sum;
}
