import { parseMissing } from '../query/definitions.ts';
import { SlicesOfTime } from '../query/slices-of-time.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { followCalls } from './calls.ts';
import {
  type Asked,
  byPath,
  candidates,
  definersOf,
  fieldOf,
  isAside,
  type Named,
  shareOf,
  type Weighed,
  weighed,
} from './candidates.ts';
import { type Counted, countIn } from './counting.ts';
import { isRoutine, type RankedUnit, type Unit } from './units.ts';
import type { Weights } from './weights.ts';

interface ScoredFile {
  file: TreeFile;
  score: number;
}

export interface Ranking {
  units: RankedUnit[];
  files: ScoredFile[];
  pending: number;
  skipped: number;
}

/** What a file that the caller names gains, as a share of a full match. */
const GIVEN = 0.3;
/** A word in the path counts like so many in the text of a file. */
const PATH_IN_FILE = 3;
/** Of a file whose score is given to a unit that says nothing of the question itself. */
const SILENT = 0.5;

/**
 * Ranks functions, methods and types by BM25 over four fields: body, name, class and path, with the score of their file. Sketches
 * say how rare a word is and which files to read; only those are read.
 */
export async function rankUnits(asked: Asked): Promise<Ranking> {
  const { index, view, weights } = asked;
  const concepts = weighed(asked);
  const unread = index.unread(view);
  const { named, files, missing } = await readable(asked, concepts);
  const read: Counted[] = [];
  const slices = new SlicesOfTime();
  for (const file of files) {
    const counted = countIn(index, file, concepts);
    if (counted) read.push(counted);
    await slices.pause();
  }
  const scale = { asked, concepts, named, all: sumOf(concepts), mean: meanLengths(read) };
  const scored = read.map((each) => scoreFile(each, scale));
  const units = scored.flatMap(({ units: each }) => each).sort(byScore);
  followCalls(units, weights.calls);
  return {
    units: units.sort(byScore),
    files: scored
      .map(({ file, score }) => ({ file, score }))
      .sort((a, b) => b.score - a.score || byPath(a.file, b.file)),
    pending: unread.pending.length,
    skipped: unread.skipped.length + missing.skipped + missing.partial,
  };
}

/** The files worth reading, parsed. What that parsing made known may name others: then they are looked for once more. */
async function readable(asked: Asked, concepts: readonly Weighed[]) {
  const chosenBy = async (named: Named) => {
    const files = candidates(asked, concepts, named);
    return { named, files, missing: await parseMissing(asked.index, files, asked.parseMs) };
  };
  const first = await chosenBy(definersOf(asked));
  const known = definersOf(asked);
  return isSame(first.named, known) ? first : chosenBy(known);
}

/** Definers are only ever added. */
function isSame(before: Named, after: Named): boolean {
  return [...after].every(([name, oids]) => before.get(name)?.length === oids.length) && before.size === after.size;
}

function byScore(a: RankedUnit, b: RankedUnit): number {
  return b.score - a.score || byPath(a.file, b.file) || a.definition.line - b.definition.line;
}

interface Scale {
  asked: Asked;
  concepts: readonly Weighed[];
  named: Named;
  /** What a full match would be worth. */
  all: number;
  mean: { unit: number; file: number };
}

function sumOf(concepts: readonly Weighed[]): number {
  return concepts.reduce((sum, { idf }) => sum + idf, 1e-9);
}

function meanLengths(read: readonly Counted[]): Scale['mean'] {
  let [sum, count, size] = [0, 0, 0];
  for (const { lengths, bytes } of read) {
    for (const length of lengths) sum += length;
    count += lengths.length;
    size += bytes;
  }
  return { unit: Math.max(1, sum / Math.max(1, count)), file: Math.max(1, size / Math.max(1, read.length)) };
}

function scoreFile(counted: Counted, scale: Scale): ScoredFile & { units: RankedUnit[] } {
  const { asked, concepts } = scale;
  const { file, units, calls } = counted;
  const inPath = fieldOf(file.path, concepts);
  const share = shareOf(asked, file.path);
  const ofFile = scoreOfFile(counted, inPath, scale);
  const ranked = units.map((unit, number): RankedUnit => {
    const own = scoreOfUnit(counted, number, { ...scale, inPath });
    const score = (own + asked.weights.file * ofFile * (own > 0 ? 1 : SILENT)) * share;
    return { ...unit, score, calls: calls[number] ?? [], isAside: isAside(file.path), callees: [], callers: [] };
  });
  return { file, score: ofFile * share, units: ranked };
}

function scoreOfFile({ file, total, bytes }: Counted, inPath: Float32Array, scale: Scale): number {
  const { asked, concepts, mean, all } = scale;
  const { b, k1, path } = asked.weights;
  const norm = 1 - b + (b * bytes) / mean.file;
  let score = asked.given.has(file.path) ? all * GIVEN : 0;
  for (const [at, { idf }] of concepts.entries()) {
    const weight = (total[at] as number) / norm + PATH_IN_FILE * path * (inPath[at] as number);
    score += (idf * weight) / (k1 + weight);
  }
  return score;
}

function scoreOfUnit(counted: Counted, number: number, scale: Scale & { inPath: Float32Array }): number {
  const { asked, concepts, mean, all, inPath } = scale;
  const { weights } = asked;
  const { definition } = counted.units[number] as Unit;
  const inName = fieldOf(definition.name, concepts);
  const inContainer = fieldOf(definition.container ?? '', concepts);
  const norm = 1 - weights.b + (weights.b * (counted.lengths[number] as number)) / mean.unit;
  let [score, met] = [0, 0];
  for (const [at, { idf }] of concepts.entries()) {
    const weight =
      (weights.body * (counted.counts[number * concepts.length + at] as number)) / norm +
      weights.name * (inName[at] as number) +
      weights.container * (inContainer[at] as number) +
      weights.path * (inPath[at] as number);
    score += (idf * weight) / (weights.k1 + weight);
    if (weight > 0) met += idf;
  }
  const covered = 1 - weights.coverage + weights.coverage * (met / all);
  return (score + exactness(definition.name, scale)) * kindWeight(counted.units[number] as Unit, weights) * covered;
}

/** What a name gains that the question writes as it is defined: the more, the fewer define it. */
function exactness(name: string, { asked, named }: Scale): number {
  const definers = named.get(name)?.length;
  if (definers === undefined) return 0;
  return (asked.weights.exact * Math.log(1 + asked.view.files.size)) / definers ** 0.75;
}

function kindWeight({ definition }: Unit, weights: Weights): number {
  if (isRoutine(definition)) return 1;
  return definition.kind === 'constant' || definition.kind === 'variable' ? weights.values : weights.types;
}
