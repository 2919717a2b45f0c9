import { join, matchesGlob } from 'node:path';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeToolArgs, CodeToolResult, SearchResult } from '../../../protocol/code.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Definition } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { readPart, readRegular, Scratch } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { splitLines } from '../words/hits.ts';
import { candidateHashes, partHash, partsOf } from '../words/sketch.ts';
import { fitting } from './paging.ts';
import { SlicesOfTime } from './slices-of-time.ts';
import { byBytes, namesWith, TextLines, termFinder } from './text-lines.ts';

/** Of BM25. */
const K1 = 1.2;
const B = 0.75;
const MOST_READ = 200;
const PHRASE_WEIGHT = 10;
const LIMIT = 10;
const CONTEXT = 2;
const MAX_BYTES = 8 * 1024 * 1024;
/** In a larger file so much is counted and the rest taken to be alike: bundles and data would be most of what is read. */
const COUNTED_BYTES = 64 * 1024;
const MAX_LINE = 300;

interface Term {
  text: string;
  idf: number;
  files: ReadonlySet<Oid>;
}

export interface Query {
  terms: string[];
  phrases: string[];
}

interface ScoredFile {
  file: TreeFile;
  score: number;
}

export interface Search {
  terms: readonly Term[];
  scored: ScoredFile[];
  total: number;
  /** Files without a sketch: they may hold the words as well. */
  pending: number;
  /** Files that were read and whose definitions, which weigh double, are not known yet: the order may change. */
  unparsed: number;
  skipped: number;
}

/** Words and quoted phrases of what was typed. */
export function parseQuery(text: string): Query {
  const phrases = [...text.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase);
  const terms = partsOf(text);
  return { terms, phrases };
}

/**
 * BM25 over words and their parts. How rare a term is, is counted in this worktree's sketches alone; only the best files by
 * summed rarity are read, for term counts, and once more for their lines if they are shown.
 */
export async function search(
  index: CodeIndex,
  view: View,
  { query, glob }: { query: Query; glob?: string },
): Promise<Search> {
  const terms = rareness(index, view, query.terms);
  const isWanted = globFilter(glob);
  const ranked = rankFiles({ index, view, terms }, { query, isWanted });
  const { pending, skipped } = unread({ index, view }, isWanted);
  const mean = Math.max(1, view.meanSize); // bytes stand for length: they are known without reading
  const scored: ScoredFile[] = [];
  let unparsed = 0;
  const [slices, scratch] = [new SlicesOfTime(), new Scratch()];
  for (const { file } of ranked.slice(0, MOST_READ)) {
    const definitions = definitionsIn(index, file);
    if (!definitions) unparsed += 1;
    const read = readForCounts(join(index.tree.checkout.toplevel, file.path), { file, query, scratch });
    const score = read && scoreOf(read, { file, terms, phrases: query.phrases, mean, definitions: definitions ?? [] });
    if (score !== undefined) scored.push({ file, score });
    await slices.pause();
  }
  scored.sort((a, b) => b.score - a.score || (a.file.path < b.file.path ? -1 : 1));
  const total = query.phrases.length > 0 && ranked.length <= MOST_READ ? scored.length : ranked.length;
  return { terms, scored, total, pending, unparsed, skipped };
}

interface Ground {
  index: CodeIndex;
  view: View;
  terms: readonly Term[];
}

/** By summed rarity of the terms a file's sketch holds. Where that is the same, a small file says more with it. */
function rankFiles(
  { index, view, terms }: Ground,
  { query, isWanted }: { query: Query; isWanted: (path: string) => boolean },
) {
  const holders = index.words.holding(candidateHashes(query.phrases.join(' ')), view.oids);
  const isPhraseOnly = terms.length === 0 && query.phrases.length > 0;
  const sums = isPhraseOnly ? new Map([...view.oids].map((oid) => [oid, 0])) : summedRarity(terms);
  const ranked: { file: TreeFile; sum: number }[] = [];
  for (const [oid, sum] of sums) {
    const isWorthReading = sum > 0 || (isPhraseOnly && index.coverage.words(oid) === 'ok');
    if (!isWorthReading || !holders.every((set) => set.has(oid))) continue;
    for (const file of view.withBlob(oid)) if (isWanted(file.path)) ranked.push({ file, sum });
  }
  ranked.sort((a, b) => b.sum - a.sum || a.file.stamp.size - b.file.stamp.size || (a.file.path < b.file.path ? -1 : 1));
  return ranked;
}

/** Only of the blobs that hold a term at all: of most there is nothing to say. */
function summedRarity(terms: readonly Term[]): Map<Oid, number> {
  const sums = new Map<Oid, number>();
  for (const { files, idf } of terms) for (const oid of files) sums.set(oid, (sums.get(oid) ?? 0) + idf);
  return sums;
}

/** Files whose words are not known, and may never be: they may hold what was asked for. */
function unread({ index, view }: Pick<Ground, 'index' | 'view'>, isWanted: (path: string) => boolean) {
  const counts = { pending: 0, skipped: 0 };
  for (const { path, oid } of index.unread(view)) {
    if (!isWanted(path)) continue;
    if (index.coverage.words(oid) === undefined) counts.pending += 1;
    else counts.skipped += 1;
  }
  return counts;
}

function globFilter(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  try {
    matchesGlob('a', glob);
  } catch (cause) {
    throw new ReefError('bad_arguments', `glob: ${JSON.stringify(glob.slice(0, 200))} is no pattern.`, { cause });
  }
  const pattern = glob.includes('/') ? glob : `**/${glob}`;
  return (path) => matchesGlob(path, pattern);
}

function rareness(index: CodeIndex, view: View, texts: readonly string[]): Term[] {
  const sets = index.words.holding(texts.map(partHash), view.oids);
  return texts.map((text, at) => {
    const files = sets[at] ?? new Set<string>();
    const idf = Math.log(1 + (view.oids.size - files.size + 0.5) / (files.size + 0.5));
    return { text, idf, files };
  });
}

interface Sought {
  terms: readonly Term[];
  phrases: readonly string[];
  /** Of the file in which they are sought. */
  definitions: readonly Definition[];
}

interface Scoring extends Sought {
  file: TreeFile;
  mean: number;
}

interface Counting {
  bytes: Buffer;
  /** How many times the bytes the file is. */
  times: number;
}

/** A phrase may stand anywhere: then the file is read whole. */
function readForCounts(
  path: string,
  { file, query, scratch }: { file: TreeFile; query: Query; scratch: Scratch },
): Counting | undefined {
  const { size } = file.stamp;
  const isWhole = size <= COUNTED_BYTES || query.phrases.length > 0;
  const bytes = isWhole ? readRegular(path, MAX_BYTES, scratch.room)?.bytes : readPart(path, 0, COUNTED_BYTES);
  return bytes && { bytes, times: isWhole ? 1 : size / COUNTED_BYTES };
}

/** Undefined: it is not what was asked for. */
function scoreOf({ bytes, times }: Counting, { file, terms, phrases, mean, definitions }: Scoring): number | undefined {
  if (phrases.some((phrase) => !bytes.includes(phrase))) return undefined;
  const find = termFinder(bytes);
  const named = namesWith(definitions.map(({ name }) => name));
  const norm = K1 * (1 - B + (B * bytes.length * times) / mean);
  let score = phrases.length;
  for (const { text, idf, files } of terms) {
    const found = find(text).length * times;
    const count = found === 0 && times > 1 && files.has(file.oid) ? 1 : found; // further on in the file
    if (count === 0) continue;
    const weight = count + named(text).length; // a definition's name weighs double
    score += (idf * weight * (K1 + 1)) / (weight + norm);
  }
  return score === 0 ? undefined : score;
}

/** The line that says most, counted from 1. */
function bestLine(bytes: Buffer, { terms, phrases, definitions }: Sought): number {
  const lines = new TextLines(byBytes(bytes));
  const find = termFinder(bytes);
  const named = namesWith(definitions.map(({ name }) => name));
  const weights = new Map<number, number>();
  const weigh = (line: number, weight: number) => weights.set(line, (weights.get(line) ?? 0) + weight);
  for (const { text, idf } of terms) {
    for (const at of find(text)) weigh(lines.lineAt(at), idf);
    for (const at of named(text)) weigh((definitions[at] as Definition).line, idf);
  }
  for (const phrase of phrases) weigh(lines.lineAt(bytes.indexOf(phrase)), PHRASE_WEIGHT);
  return heaviest(weights);
}

/** The first of those that weigh most. */
function heaviest(weights: ReadonlyMap<number, number>): number {
  let best = { line: 1, weight: 0 };
  for (const [line, weight] of weights)
    if (weight > best.weight || (weight === best.weight && line < best.line)) best = { line, weight };
  return best.line;
}

/** Undefined while they may still come. */
function definitionsIn(index: CodeIndex, file: TreeFile): readonly Definition[] | undefined {
  const language = index.languages.of(file);
  if (language === undefined) return [];
  const structure = index.structures.known(file, language);
  if (!structure) return undefined;
  return 'skipped' in structure ? [] : structure.facts.definitions;
}

export async function codeSearch(
  index: CodeIndex,
  args: CodeToolArgs<'code_search'>,
): Promise<CodeToolResult<'code_search'>> {
  const view = await index.view();
  const query = parseQuery(args.query);
  const found = await search(index, view, { query, ...(args.glob !== undefined && { glob: args.glob }) });
  const limit = args.limit ?? args.max_results ?? LIMIT;
  const shown = { terms: found.terms, phrases: query.phrases, context: args.context_lines ?? CONTEXT };
  const results = found.scored.slice(0, limit).map((each) => toResult(index, each, shown));
  const { skipped, unparsed } = found;
  const pending = found.pending + unparsed;
  return {
    results: fitting(results),
    total_found: found.total,
    basis: await index.basis(
      { stage: pending > 0 ? 1 : 2, complete: pending === 0 && skipped === 0, pending, skipped },
      view,
    ),
  };
}

interface Shown extends Omit<Sought, 'definitions'> {
  /** Lines before and after. */
  context: number;
}

function toResult(index: CodeIndex, { file, score }: ScoredFile, { terms, phrases, context }: Shown): SearchResult {
  const bytes = readRegular(join(index.tree.checkout.toplevel, file.path), MAX_BYTES)?.bytes ?? Buffer.alloc(0);
  const line = bestLine(bytes, { terms, phrases, definitions: definitionsIn(index, file) ?? [] });
  const lines = splitLines(bytes);
  const around = lines.slice(Math.max(0, line - 1 - context), line + context).map((text) => text.slice(0, MAX_LINE));
  return {
    score: Math.round(score * 1_000) / 1_000,
    file_path: file.path,
    language: index.languages.of(file) ?? null,
    line,
    line_text: (lines[line - 1] ?? '').trim().slice(0, MAX_LINE),
    content_snippet: around.join('\n'),
  };
}
