import type { Row } from './report.ts';

interface Facts {
  rows: readonly Row[];
  /** Facts of snapshots that were held against git, and those that were wrong. */
  checked: number;
  wrong: readonly string[];
  /** The shipped set must look like the reference runs, or its figures prove nothing (S-62). */
  isShipped: boolean;
}

/** Cost ÷ full of the plain strategies over 500 public runs. */
const REFERENCE = { 'last-1': 0.49, 'last-3': 0.99, 'mask-10': 2.3 } as const;
const DRIFT = 0.15;

/** The promises of S-63, each with what was measured. */
export function checkRows({ rows, checked, wrong, isShipped }: Facts): { failures: string[]; drift: string[] } {
  const row = (name: string) => rows.find(({ strategy }) => strategy === name);
  const ours = row('epoch-10k');
  const full = row('full');
  if (!ours || !full) return { failures: ['full and epoch-10k must both run'], drift: [] };
  const promises: [string, number, boolean][] = [
    ['cost, writes 1.0, minimum 1,024, at most 0.60', ours.cost['write 1.0'], ours.cost['write 1.0'] <= 0.6],
    ['cost, minimum 4,096, at most 0.75', ours.cost['minimum 4096'], ours.cost['minimum 4096'] <= 0.75],
    ['recall at least 0.90', ours.recall, ours.recall >= 0.9],
    ['recall without Names at least 0.85', ours.recallWithoutNames, ours.recallWithoutNames >= 0.85],
    ['recall with artifacts 1', ours.recallWithArtifacts, ours.recallWithArtifacts === 1],
    ['slope at most 2 % of that of full', ours.slope / full.slope, ours.slope <= 0.02 * full.slope],
    ['snapshot p90 at most 500', ours.snapshot?.p90 ?? 0, (ours.snapshot?.p90 ?? 0) <= 500],
    ['snapshot at most 800', ours.snapshot?.max ?? 0, (ours.snapshot?.max ?? 0) <= 800],
    ['own text under 5,000', ours.ownText ?? 0, (ours.ownText ?? 0) < 5_000],
    [`truth of ${checked} facts: wrong ones 0`, wrong.length, wrong.length === 0],
  ];
  const failures = promises.filter(([, , isKept]) => !isKept).map(([what, value]) => `${what}: ${value.toFixed(3)}`);
  const drift = isShipped ? driftOf(row) : [];
  return { failures, drift };
}

function driftOf(row: (name: string) => Row | undefined): string[] {
  return Object.entries(REFERENCE).flatMap(([name, wanted]) => {
    const got = row(name)?.cost['write 1.0'] ?? Number.NaN;
    const isNear = Math.abs(got - wanted) <= DRIFT * wanted;
    return isNear ? [] : [`${name} costs ${got.toFixed(2)} of full; in the reference runs ${wanted}`];
  });
}
