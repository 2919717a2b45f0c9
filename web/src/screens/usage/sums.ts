import type { OperationInput, OperationOutput } from '../../../../src/protocol/operations.ts';
import { cost, count } from '../../format.ts';

export type By = NonNullable<OperationInput<'usage'>['by']>;
export type Row = OperationOutput<'usage'>['rows'][number];
export type Sum = OperationOutput<'usage'>['totals'];

export const TOKENS = [
  { kind: 'output', title: 'Written', of: ({ output }: Sum) => output },
  { kind: 'fresh', title: 'Read', of: ({ input, cacheWrite }: Sum) => input + cacheWrite },
  { kind: 'cached', title: 'Read from the cache', of: ({ cacheRead }: Sum) => cacheRead },
] as const;

const NAMELESS: Readonly<Record<By, string>> = {
  agent: 'no agent',
  model: 'a model that nobody named',
  day: 'no day',
  run: 'jobs of no run',
};

export const nameOf = (by: By, { key, title }: Row) => title ?? (key || NAMELESS[by]);

const tokensOf = (sum: Sum) => TOKENS.reduce((all, { of }) => all + of(sum), 0);

export const tokenWords = (sum: Sum) => `${sum.partial ? '≥ ' : ''}${count(tokensOf(sum))}`;

/** What is known of it, and that something is not. */
export function costWords({ costUsd, unpriced }: Sum): string {
  return unpriced > 0 && costUsd !== null ? `≥ ${cost(costUsd)}` : cost(costUsd);
}

const NOTHING: Sum = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  ...{ costUsd: 0, partial: false, jobs: 0, unpriced: 0 },
};
const MOST_DAYS = 60;

/** Oldest first, with the days between them on which nothing was started: a gap in time is a gap in the plot. */
export function everyDay(rows: readonly Row[]): Row[] {
  const [newest, oldest] = [rows[0]?.key, rows.at(-1)?.key];
  if (newest === undefined || oldest === undefined) return [];
  const known = new Map(rows.map((row) => [row.key, row]));
  const days: Row[] = [];
  for (const at = new Date(`${newest}T00:00:00Z`); days.length < MOST_DAYS; at.setUTCDate(at.getUTCDate() - 1)) {
    const key = at.toISOString().slice(0, 10);
    if (key < oldest) break;
    days.unshift(known.get(key) ?? { key, ...NOTHING });
  }
  return days;
}
