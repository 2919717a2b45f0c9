import { LANGUAGES } from '../../test/support/context/languages.ts';
import type { Comparison, Difference } from './compare.ts';
import type { ReferenceCheck } from './references.ts';

const RECALL = 0.98;
const PRECISION = 0.95;
/** Fewer names than this say nothing about a language. */
const ENOUGH = 100;

export interface Score {
  label: string;
  files: number;
  skipped: number;
  partial: number;
  tags: number;
  ours: number;
  /** Against ctags as it is. */
  raw: { recall: number; precision: number };
  /** After what a rule or a second parser shows to be an error of ctags. */
  judged: { recall: number; precision: number };
}

export function scoreOf(comparison: Comparison): Score {
  const of = (side: Difference['side'], isExplained: boolean) =>
    comparison.differences.filter((one) => one.side === side && (one.reason !== '') === isExplained).length;
  const { tags, ours } = comparison;
  const realTags = tags - of('missing', true);
  return {
    label: comparison.label,
    files: comparison.files,
    skipped: comparison.skipped.length,
    partial: comparison.partial,
    tags,
    ours,
    raw: {
      recall: share(comparison.agreed, tags),
      precision: share(ours - of('extra', true) - of('extra', false), ours),
    },
    judged: {
      recall: share(realTags - of('missing', false), realTags),
      precision: share(ours - of('extra', false), ours),
    },
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

/** Adds up what several corpora say about the same language. */
export function merge(comparisons: readonly Comparison[]): Comparison[] {
  const merged = Map.groupBy(comparisons, ({ label }) => label);
  return [...merged.values()].map((same) =>
    same.reduce((sum, one) => ({
      label: sum.label,
      files: sum.files + one.files,
      skipped: [...sum.skipped, ...one.skipped],
      partial: sum.partial + one.partial,
      tags: sum.tags + one.tags,
      ours: sum.ours + one.ours,
      agreed: sum.agreed + one.agreed,
      differences: [...sum.differences, ...one.differences],
    })),
  );
}

/** Prints the table and says whether every language with enough names keeps C-126. */
export function printDefinitions(comparisons: readonly Comparison[], show: number): boolean {
  const scores = comparisons.map(scoreOf);
  const percent = (value: number) => value.toFixed(4);
  console.table(
    scores.map((score) => ({
      language: score.label,
      files: score.files,
      skipped: score.skipped,
      partial: score.partial,
      ctags: score.tags,
      ours: score.ours,
      'recall, raw': percent(score.raw.recall),
      'precision, raw': percent(score.raw.precision),
      recall: percent(score.judged.recall),
      precision: percent(score.judged.precision),
      verdict: verdict(score),
    })),
  );
  for (const comparison of comparisons) printDifferences(comparison, show);
  return scores.every((score) => !verdict(score).startsWith('✗'));
}

function verdict({ label, tags, judged }: Score): string {
  if (!(LANGUAGES as readonly string[]).includes(label)) return 'no grammar for this dialect';
  if (tags < ENOUGH) return 'too few names';
  return judged.recall >= RECALL && judged.precision >= PRECISION ? '✓' : '✗';
}

function printDifferences({ label, differences, skipped }: Comparison, show: number): void {
  const reasons = Map.groupBy(differences, ({ side, reason }) => `${side}: ${reason === '' ? 'UNEXPLAINED' : reason}`);
  if (reasons.size + skipped.length > 0) console.log(`\n${label}`);
  for (const [reason, same] of reasons) {
    console.log(`  ${String(same.length).padStart(6)}  ${reason}`);
    if (!reason.endsWith('UNEXPLAINED')) continue;
    for (const { file, line, kind, name, text } of same.slice(0, show)) {
      console.log(`            ${file}:${line} ${kind} ${name} | ${text}`);
    }
  }
  for (const file of skipped) console.log(`          not parsed: ${file}`);
}

export function printReferences(checks: readonly ReferenceCheck[], show: number): boolean {
  console.table(
    checks.map(({ corpus, language, words, hits, unread, text, code, lost, overstated }) => ({
      corpus,
      language,
      words,
      'files unread': unread,
      'rg -w hits judged': hits,
      'comment or string': text,
      code,
      'code called text': lost.length,
      'text called code': overstated.length,
    })),
  );
  for (const { lost } of checks) for (const one of lost.slice(0, show)) console.log(`  lost: ${one}`);
  for (const { overstated } of checks) for (const one of overstated.slice(0, show)) console.log(`  overstated: ${one}`);
  return checks.every(({ lost }) => lost.length === 0);
}
