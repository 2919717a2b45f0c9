import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export interface Row {
  what: string;
  ours: number;
  theirs: number;
  unit: string;
  /** The ratio that is promised; `least` for rates, where more is better. */
  target?: { most: number } | { least: number };
}

export async function timed(work: () => Promise<unknown> | unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Milliseconds of processor that these processes have used so far, in steps of 10. */
export function cpuMs(...pids: number[]): number {
  return pids.reduce((sum, pid) => {
    // Behind the name, which may hold blanks, the fields count from 3.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return sum + 10 * (Number(fields[11]) + Number(fields[12]));
  }, 0);
}

export function median(values: number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** Ratios of one run, side by side: times alone say more about the machine than about us. */
export function printRows(title: string, rows: Row[]): boolean {
  console.log(`\n${title}`);
  let isMet = true;
  for (const { what, ours, theirs, unit, target } of rows) {
    const ratio = ours / theirs;
    const isGood = target === undefined || ('most' in target ? ratio <= target.most : ratio >= target.least);
    const promise = target === undefined ? '' : 'most' in target ? `≤ ${target.most}` : `≥ ${target.least}`;
    isMet &&= isGood;
    const figures = `${format(ours)} ${unit} against ${format(theirs)} ${unit}`;
    console.log(
      `  ${what.padEnd(54)} ${figures.padEnd(38)} ${ratio.toFixed(2).padStart(7)}×  ${promise} ${isGood ? '' : '✗'}`,
    );
  }
  return isMet;
}

export interface Limit {
  what: string;
  measured: number;
  most: number;
  unit: string;
}

/** What has to hold on every machine by itself. */
export function printLimits(title: string, limits: Limit[]): boolean {
  console.log(`\n${title}`);
  for (const { what, measured, most, unit } of limits) {
    const promise = `≤ ${format(most)} ${unit}`;
    console.log(
      `  ${what.padEnd(62)} ${`${format(measured)} ${unit}`.padStart(14)}  ${promise}${measured <= most ? '' : ' ✗'}`,
    );
  }
  return limits.every(({ measured, most }) => measured <= most);
}

function format(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value < 1 ? 2 : 1);
}
