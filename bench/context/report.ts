import { median, quantile } from '../measure.ts';
import { type Charge, costOf } from './cache-model.ts';
import type { RunMeasure } from './measure-run.ts';

export interface Row {
  strategy: string;
  tokensPerTurn: number;
  p95: number;
  slope: number;
  hit: number;
  cost: { 'write 1.0': number; 'write 1.25': number; 'minimum 4096': number };
  recall: number;
  recallWithoutNames: number;
  recallWithArtifacts: number;
  snapshot?: { p50: number; p90: number; max: number };
  ownText?: number;
}

/** One strategy over all runs, for both minimum prefixes: what a strategy does may depend on them. */
export interface Measured {
  at1024: RunMeasure[];
  at4096: RunMeasure[];
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const chargesOf = (runs: readonly RunMeasure[]) => runs.flatMap(({ charges }) => charges);
const largest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

export function rowOf(strategy: string, measured: Measured, full: Measured): Row {
  const { at1024, at4096 } = measured;
  const charges = chargesOf(at1024);
  const ratio = (pick: keyof Measured, pay: (charge: Charge) => number) =>
    sum(chargesOf(measured[pick]).map(pay)) / sum(chargesOf(full[pick]).map(pay));
  const references = sum(at1024.map((run) => run.references));
  const share = (pick: (run: RunMeasure) => number) => sum(at1024.map(pick)) / references;
  const snapshots = [...at1024, ...at4096].flatMap((run) => run.snapshots);
  const own = [...at1024, ...at4096].flatMap((run) => run.own);
  return {
    strategy,
    tokensPerTurn: sum(charges.map(({ tokens }) => tokens)) / charges.length,
    p95: quantile(
      charges.map(({ tokens }) => tokens),
      0.95,
    ),
    slope: slopeOf(at1024),
    hit: sum(charges.map(({ read1024 }) => read1024)) / sum(charges.map(({ tokens }) => tokens)),
    cost: {
      'write 1.0': ratio('at1024', (charge) => costOf(charge, { minimum: 1_024, write: 1 })),
      'write 1.25': ratio('at1024', (charge) => costOf(charge, { minimum: 1_024, write: 1.25 })),
      'minimum 4096': ratio('at4096', (charge) => costOf(charge, { minimum: 4_096, write: 1 })),
    },
    recall: share((run) => run.inPrompt),
    recallWithoutNames: share((run) => run.withoutNames),
    recallWithArtifacts: share((run) => run.withArtifacts),
    ...(snapshots.length > 0 && {
      snapshot: { p50: median(snapshots), p90: quantile(snapshots, 0.9), max: largest(snapshots) },
      ownText: largest(own),
    }),
  };
}

const LONG_RUN = 40;
const SETTLED = 20;

/**
 * Tokens a turn adds once a run has settled: one least-squares slope for all long runs after turn 20, each with a level of
 * its own. Prompts that grow and roll are compared at equal phase, by the first of each epoch: where in its rise a run
 * happens to end would outweigh everything else (over single runs such a slope scatters by 130 tokens).
 */
function slopeOf(runs: readonly RunMeasure[]): number {
  const long = runs.filter(({ charges }) => charges.length >= LONG_RUN).map(settledPoints);
  const rise = sum(long.map((points) => centred(points, ({ x, y }, mean) => (x - mean.x) * (y - mean.y))));
  const run = sum(long.map((points) => centred(points, ({ x }, mean) => (x - mean.x) ** 2)));
  return run === 0 ? 0 : rise / run;
}

interface Point {
  x: number;
  y: number;
}

function settledPoints({ charges, epochs }: RunMeasure): Point[] {
  const isFirst = (turn: number) => epochs.length === 0 || epochs[turn] !== epochs[turn - 1];
  const points = charges.map(({ tokens }, turn) => ({ x: turn, y: tokens }));
  return points.filter(({ x }) => x >= SETTLED && isFirst(x));
}

function centred(points: readonly Point[], term: (point: Point, mean: Point) => number): number {
  const mean = { x: sum(points.map(({ x }) => x)) / points.length, y: sum(points.map(({ y }) => y)) / points.length };
  return sum(points.map((point) => term(point, mean)));
}

const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
const whole = (value: number) => Math.round(value).toLocaleString('en-US');

export function tableOf(rows: readonly Row[]): string {
  const head = [
    'strategy',
    'tokens/turn (p95)',
    'slope',
    'hit',
    'cost 1.0 / 1.25',
    'cost min 4096',
    'recall (no Names)',
    '+ artifacts',
    'snapshot p50/p90/max',
    'own text',
  ];
  const lines = rows.map((row) => [
    row.strategy,
    `${whole(row.tokensPerTurn)} (${whole(row.p95)})`,
    row.slope.toFixed(1),
    percent(row.hit),
    `${row.cost['write 1.0'].toFixed(3)} / ${row.cost['write 1.25'].toFixed(3)}`,
    row.cost['minimum 4096'].toFixed(3),
    row.snapshot ? `${percent(row.recall)} (${percent(row.recallWithoutNames)})` : percent(row.recall),
    row.snapshot ? percent(row.recallWithArtifacts) : '–',
    row.snapshot ? `${row.snapshot.p50}/${row.snapshot.p90}/${row.snapshot.max}` : '–',
    row.ownText === undefined ? '–' : whole(row.ownText),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
