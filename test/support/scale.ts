/** The three figures of a requirement: `npm test`, `npm run test:faults`, `npm run soak`. */
export interface Counts {
  test: number;
  faults: number;
  soak: number;
}

/** How often a test repeats: the same test with larger numbers in the longer tiers. The id says whose figures these are. */
export function scale(_id: string, counts: Counts): number {
  return counts[tier()];
}

/** A deadline of a requirement: to the letter only in the longer tiers, since whatever else runs takes its share of the clock. */
export function deadline(ms: number): number {
  return tier() === 'test' ? Math.max(ms, 10_000) : ms;
}

export function tier(): keyof Counts {
  const named = process.env.REEF_TIER ?? 'test';
  if (named === 'test' || named === 'faults' || named === 'soak') return named;
  throw new Error(`REEF_TIER is test, faults or soak, not ${named}`);
}
