import type { Oid } from '../../../git/ref-name.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { partHash, partsOf } from '../words/sketch.ts';
import type { Concept, Question } from './question.ts';
import type { Weights } from './weights.ts';

export interface Asked {
  index: CodeIndex;
  view: View;
  question: Question;
  isInside: (path: string) => boolean;
  /** Files that the caller names: they matter even if they do not say the question. */
  given: ReadonlySet<string>;
  weights: Weights;
  /** How long files that are not parsed yet may be waited for. */
  parseMs: number;
}

/** A concept with how rare it is here, and the contents that hold it. */
export interface Weighed extends Concept {
  idf: number;
  holders: ReadonlySet<Oid>;
}

/** The contents here that define a word of the question, by the word. */
export type Named = ReadonlyMap<string, readonly Oid[]>;

/** Files read for one question. */
const MOST_READ = 300;
/** A name with more definers says little about which is meant. */
const MOST_DEFINERS = 20;
/** What a definer of a word of the question gains over one that only holds it. */
const DEFINES = 4;
const IN_PATH = 2;
const TEST_PATH =
  /(^|\/)(tests?|testing|__tests__|specs?|e2e|testdata|fixtures?|benchmarks?|examples?|docs?|vendor|third_party|node_modules|dist)\/|(^|\/)(test_[^/]*|conftest)\.py$|[._-](test|spec|bench|stories)\.[a-z]+$|_test\.(go|py|rb|cc|cpp)$|Tests?\.(java|kt|cs|swift|scala|php)$|\.min\.js$|[._-](pb|generated|gen)\.[a-z]+$/;

/** Whether a path is of a test, an example, or of code that others wrote or that was generated. */
export function isAside(path: string): boolean {
  return TEST_PATH.test(path);
}

export function weighed({ index, view, question }: Asked): Weighed[] {
  const { concepts } = question;
  const hashes = concepts.flatMap(({ forms }) => forms.map(partHash));
  const sets = index.words.holding(hashes, view.oids);
  let at = 0;
  return concepts.map((concept) => {
    const holders = new Set<Oid>();
    for (const _ of concept.forms) for (const oid of sets[at++] ?? []) holders.add(oid);
    const idf = Math.log(1 + (view.oids.size - holders.size + 0.5) / (holders.size + 0.5));
    return { ...concept, idf: idf * Math.sqrt(concept.weight), holders };
  });
}

export function definersOf({ index, view, question }: Asked): Named {
  const found = new Map<string, Oid[]>();
  for (const name of question.names) {
    const oids = [...new Set(index.names.definers(name).map(({ oid }) => oid))].filter((oid) => view.oids.has(oid));
    if (oids.length > 0 && oids.length <= MOST_DEFINERS) found.set(name, oids);
  }
  return found;
}

/** The files worth reading: by the rarity of what they hold, what their path says, and the names they define. */
export function candidates(asked: Asked, concepts: readonly Weighed[], named: Named): TreeFile[] {
  const { view, given, isInside } = asked;
  const held = heldBy(concepts, named);
  const found: { file: TreeFile; sum: number }[] = [];
  for (const file of view.files.values()) {
    const isGiven = given.has(file.path);
    const sum = held.get(file.oid) ?? 0;
    if ((sum === 0 && !isGiven) || !isInside(file.path) || !isWanted(asked, file)) continue;
    const worth = (sum + IN_PATH * saidBy(file.path, concepts)) * shareOf(asked, file.path);
    found.push({ file, sum: isGiven ? Number.POSITIVE_INFINITY : worth });
  }
  found.sort((a, b) => byWorth(b.sum, a.sum) || a.file.stamp.size - b.file.stamp.size || byPath(a.file, b.file));
  return found.slice(0, MOST_READ).map(({ file }) => file);
}

/** Two infinite ones are equal. */
function byWorth(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

export function byPath(one: TreeFile, other: TreeFile): number {
  return one.path === other.path ? 0 : one.path < other.path ? -1 : 1;
}

/** What tests and the like count: less, unless they are asked for. */
export function shareOf({ question, weights }: Asked, path: string): number {
  return isAside(path) && !question.wantsTests ? weights.tests : 1;
}

/** Prose has no units; it is named only if it is asked for. */
function isWanted({ index, question }: Asked, file: TreeFile): boolean {
  return question.wantsProse || index.languages.of(file) !== undefined;
}

function heldBy(concepts: readonly Weighed[], named: Named): Map<Oid, number> {
  const sums = new Map<Oid, number>();
  const add = (oid: Oid, worth: number) => sums.set(oid, (sums.get(oid) ?? 0) + worth);
  for (const { holders, idf } of concepts) for (const oid of holders) add(oid, idf);
  for (const oids of named.values()) for (const oid of oids) add(oid, DEFINES / Math.sqrt(oids.length));
  return sums;
}

/** The rarity of what a path says. */
function saidBy(path: string, concepts: readonly Weighed[]): number {
  const inPath = fieldOf(path, concepts);
  return concepts.reduce((sum, { idf }, at) => sum + idf * (inPath[at] as number), 0);
}

/** Whether a name or path has each concept as a part. */
export function fieldOf(text: string, concepts: readonly Concept[]): Float32Array {
  const parts = new Set(partsOf(text));
  return Float32Array.from(concepts, ({ forms }) => (forms.some((form) => parts.has(form)) ? 1 : 0));
}
