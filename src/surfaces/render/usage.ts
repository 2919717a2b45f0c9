import type { OperationOutput } from '../../protocol/operations.ts';
import { type Cell, heading, table } from './columns.ts';
import { cost, short } from './quantities.ts';
import type { Style } from './style.ts';

type Sum = OperationOutput<'usage'>['totals'];

export function usageTable({ rows, totals, leftOut }: OperationOutput<'usage'>, style: Style): string {
  if (rows.length === 0) return 'No jobs yet.';
  const titles = heading(['JOBS', 'INPUT', 'CACHED', 'OUTPUT', 'COST', ''], style);
  const lines = rows.map(({ key, title, ...sum }) => cells(sum, [key || '(none)', title].filter(Boolean).join('  ')));
  const more = leftOut > 0 ? `\n${leftOut} more rows; --limit shows them.` : '';
  return table([titles, ...lines, cells(totals, 'in all')], style.width) + more + remarks(totals);
}

function cells(sum: Sum, name: string): Cell[] {
  const { jobs, input, output, cacheRead, partial } = sum;
  const atLeast = (count: number) => `${partial && count > 0 ? '≥' : ''}${short(count)}`;
  const texts = [String(jobs), atLeast(input), atLeast(cacheRead), atLeast(output), costOf(sum), name];
  return texts.map((text) => ({ text }));
}

/** What is known, and that something is not. */
function costOf(sum: Sum): string {
  return sum.unpriced > 0 && sum.costUsd !== null ? `≥${cost(sum)}` : cost(sum);
}

function remarks({ unpriced, jobs }: Sum): string {
  return unpriced > 0 ? `\n${unpriced} of ${jobs} jobs report no cost.` : '';
}
