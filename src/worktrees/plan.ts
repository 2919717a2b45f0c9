import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { compileGlob, globMeets, matchesGlob, type Pattern, type Steps } from '../base/glob.ts';
import { whyUnsafe } from '../base/safe-path.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Drift, PlanEntry } from '../protocol/worktrees.ts';

interface RefusedPath {
  path: string;
  why: string;
}

const MOST_ENTRIES = 5_000;
/** All globs of a plan together: each one is compared with every file of every other task. */
const MOST_ALTERNATIVES = 1_000;

/** An entry as it is stored: slashes, no dots, composed characters; a folder means everything below it. */
export function planPath(text: string): { path: string } | { why: string } {
  const slashed = text.normalize('NFC').replaceAll('\\', '/');
  const unsafe = whyUnsafe(slashed);
  if (unsafe !== undefined) return { why: unsafe };
  const parts = slashed.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) return { why: 'names no file' };
  const path = parts.join('/') + (slashed.endsWith('/') ? '/**' : '');
  return compileGlob(path) === undefined ? { why: 'has too many alternatives' } : { path };
}

/** All entries or none: a plan without one of its files would let two tasks meet there. */
export function declaredPlan(paths: readonly string[]): PlanEntry[] {
  const { entries, refused } = addEntries([], paths, 'declared');
  if (refused.length === 0) return entries;
  const named = refused.slice(0, 10).map(({ path, why }) => `${JSON.stringify(path.slice(0, 200))} ${why}`);
  throw new ReefError('plan_path_invalid', `The plan has paths that cannot be: ${named.join('; ')}.`, {
    details: { refused },
  });
}

/** Appends what is new. An entry keeps its first origin. */
export function addEntries(
  plan: readonly PlanEntry[],
  paths: readonly string[],
  origin: PlanEntry['origin'],
): { entries: PlanEntry[]; refused: RefusedPath[] } {
  const entries = [...plan];
  const known = new Set(plan.map(({ path }) => path));
  let alternatives = plan.reduce((sum, { path }) => sum + alternativesOf(path), 0);
  const refused: RefusedPath[] = [];
  for (const text of paths) {
    const found = planPath(text);
    if ('why' in found) refused.push({ path: text, why: found.why });
    else if (!known.has(found.path) && entries.length >= MOST_ENTRIES)
      refused.push({ path: text, why: `is more than the ${MOST_ENTRIES} entries a plan can have` });
    else if (alternatives + alternativesOf(found.path) > MOST_ALTERNATIVES)
      refused.push({ path: text, why: `is more than the ${MOST_ALTERNATIVES} patterns a plan can have` });
    else if (!known.has(found.path)) {
      known.add(found.path);
      alternatives += alternativesOf(found.path);
      entries.push({ path: found.path, origin });
    }
  }
  return { entries, refused };
}

/** Of a plain path 0. */
function alternativesOf(path: string): number {
  const pattern = compileGlob(path);
  return pattern?.isGlob ? pattern.alternatives.length : 0;
}

/** How names compare: composed, and without case where the file system folds it. */
export type Fold = (path: string) => string;

export async function foldOf(toplevel: string): Promise<Fold> {
  const folds = await lstat(join(toplevel, '.GIT')).then(
    () => true,
    () => false,
  );
  return folds ? (path) => path.normalize('NFC').toLowerCase() : (path) => path.normalize('NFC');
}

/** What a task means to change or has changed, ready to be compared. */
export interface Touched {
  patterns: readonly Pattern[];
}

export function touchedBy(paths: Iterable<string>, fold: Fold): Touched {
  const patterns = [...new Set([...paths].map(fold))].map((path) => compileGlob(path));
  return { patterns: patterns.filter((pattern) => pattern !== undefined) };
}

/** Files that were really changed: wildcards in their names are plain characters. */
export function changedFiles(paths: Iterable<string>, fold: Fold): Touched {
  const texts = [...new Set([...paths].map(fold))];
  return { patterns: texts.map((text) => ({ text, isGlob: false, alternatives: [text.split('/')] })) };
}

export function joined(...all: readonly Touched[]): Touched {
  return { patterns: all.flatMap(({ patterns }) => patterns) };
}

/** Every place where two tasks meet, by the narrower name. A path also meets those below it. */
export function meetings(one: Touched, other: Touched, steps: Steps = { left: MOST_STEPS }): string[] {
  const byGlob = [...globMeetings(one, other, steps), ...globMeetings(other, one, steps)];
  return [...new Set([...plainMeetings(one, other), ...byGlob])].sort();
}

function plainMeetings(one: Touched, other: Touched): string[] {
  const names = ({ patterns }: Touched) => patterns.filter(({ isGlob }) => !isGlob).map(({ text }) => text);
  const plain = new Set(names(other));
  const around = new Set([...plain].flatMap(foldersOf));
  const isMet = (text: string) =>
    plain.has(text) || around.has(text) || foldersOf(text).some((each) => plain.has(each));
  return names(one).filter(isMet);
}

/** An agent writes plans and makes files: comparing them must not keep the daemon from anything else. */
export const MOST_STEPS = 100_000;

/** A glob that was not compared with everything when the steps were used up counts as met. */
function globMeetings(one: Touched, other: Touched, steps: Steps): string[] {
  const found: string[] = [];
  for (const glob of one.patterns) {
    if (!glob.isGlob) continue;
    for (const each of other.patterns) {
      const isMet = globMeets(glob, each, steps);
      if (steps.left <= 0) break;
      if (isMet) found.push(narrower(glob, each).text);
    }
    if (steps.left > 0) continue;
    found.push(glob.text);
    break;
  }
  return found;
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function narrower(one: Pattern, other: Pattern): Pattern {
  if (one.isGlob !== other.isGlob) return one.isGlob ? other : one;
  return one.text.length >= other.text.length ? one : other;
}

/** What was not compared when the steps were used up counts as not planned. */
export function isPlanned(plan: Touched, path: string, steps: Steps = { left: MOST_STEPS }): boolean {
  const isMet = plan.patterns.some((pattern) => {
    steps.left--;
    return steps.left < 0 || matchesGlob(pattern, path, steps) || path.startsWith(`${pattern.text}/`);
  });
  return isMet && steps.left >= 0;
}

/** Compares the real diff with the plan. Observed files are no plan, and without a plan there is no drift. */
export function driftOf(plan: readonly PlanEntry[], changed: readonly string[], fold: Fold): Drift {
  const meant = plan.filter(({ origin }) => origin !== 'observed').map(({ path }) => path);
  if (meant.length === 0) return { unplanned: [], untouched: [] };
  const planned = touchedBy(meant, fold);
  const real = changedFiles(changed, fold);
  const [forward, back]: [Steps, Steps] = [{ left: MOST_STEPS }, { left: MOST_STEPS }];
  return {
    unplanned: changed.filter((path) => !isPlanned(planned, fold(path), forward)),
    untouched: meant.filter((path) => isUntouched(path, real, { fold, steps: back })),
  };
}

function isUntouched(path: string, real: Touched, { fold, steps }: { fold: Fold; steps: Steps }): boolean {
  steps.left -= real.patterns.length;
  return steps.left > 0 && meetings(touchedBy([path], fold), real, steps).length === 0;
}
