import { join } from 'node:path';
import { pathFilter } from '../../../base/glob.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeToolArgs, CodeToolResult, SearchResult } from '../../../protocol/code.ts';
import type { Definition } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { readPart, Scratch } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { splitLines } from '../words/hits.ts';
import { candidateHashes, partHash, partsOf } from '../words/sketch.ts';
import { fitting } from './paging.ts';
import { SlicesOfTime } from './slices-of-time.ts';
import { byBytes, namesWith, TextLines, termFinder } from './text-lines.ts';

/** The parameters of BM25. */
const K1 = 1.2;
const B = 0.75;
const MOST_READ = 200;
const PHRASE_WEIGHT = 10;
const LIMIT = 10;
const CONTEXT = 2;
/** Of a larger file only so much is read and its counts are scaled up: bundles and data would be most of what is read. */
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

export interface ScoredFile {
  file: TreeFile;
  score: number;
}

/** The words and quoted phrases of a query. */
export function parseQuery(text: string): Query {
  const phrases = [...text.matchAll(/"([^"]+)"/g)].map(([, phrase = '']) => phrase);
  return { terms: partsOf(text), phrases };
}

/**
 * BM25 over words and their parts. The sketches of this worktree say how rare a term is. Only the best files by summed rarity are
 * read, for their term counts, and once more for their lines if they are shown.
 */
export async function search(index: CodeIndex, view: View, query: Query, glob?: string) {
  const { phrases } = query;
  const terms = rareness(index, view, query.terms);
  const isWanted = globFilter(glob);
  const ranked = rankFiles(index, view, { terms, phrases }, isWanted);
  const unread = index.unread(view);
  const mean = Math.max(1, view.meanSize); // bytes stand for length: they are known without reading
  const scored: ScoredFile[] = [];
  let unparsed = 0; // definitions weigh double, so the order may change when these are parsed
  const [slices, scratch] = [new SlicesOfTime(), new Scratch()];
  for (const file of ranked.slice(0, MOST_READ)) {
    const definitions = definitionsIn(index, file);
    if (!definitions) unparsed += 1;
    const counting = readForCounts(index, file, phrases, scratch);
    const sought = { terms, phrases, definitions: definitions ?? [] };
    const score = counting && scoreOf(counting, file, sought, mean);
    if (score !== undefined) scored.push({ file, score });
    await slices.pause();
  }
  scored.sort((a, b) => b.score - a.score || (a.file.path < b.file.path ? -1 : 1));
  const total = phrases.length > 0 && ranked.length <= MOST_READ ? scored.length : ranked.length;
  const count = (files: readonly TreeFile[]) => files.filter(({ path }) => isWanted(path)).length;
  return { terms, scored, total, pending: count(unread.pending), unparsed, skipped: count(unread.skipped) };
}

/** Files by the summed rarity of the terms their sketches hold. Of equal ones the smaller comes first. */
function rankFiles(
  index: CodeIndex,
  view: View,
  { terms, phrases }: Omit<Sought, 'definitions'>,
  isWanted: (path: string) => boolean,
): TreeFile[] {
  const holders = index.words.holding(candidateHashes(phrases.join(' ')), view.oids);
  const isPhraseOnly = terms.length === 0 && phrases.length > 0;
  const sums = isPhraseOnly ? new Map([...view.oids].map((oid) => [oid, 0])) : summedRarity(terms);
  const ranked: { file: TreeFile; sum: number }[] = [];
  for (const [oid, sum] of sums) {
    const isWorthReading = sum > 0 || (isPhraseOnly && index.coverage.words(oid) === 'ok');
    if (!isWorthReading || !holders.every((set) => set.has(oid))) continue;
    for (const file of view.withBlob(oid)) if (isWanted(file.path)) ranked.push({ file, sum });
  }
  ranked.sort((a, b) => b.sum - a.sum || a.file.stamp.size - b.file.stamp.size || (a.file.path < b.file.path ? -1 : 1));
  return ranked.map(({ file }) => file);
}

/** Of the blobs that hold a term at all. */
function summedRarity(terms: readonly Term[]): Map<Oid, number> {
  const sums = new Map<Oid, number>();
  for (const { files, idf } of terms) for (const oid of files) sums.set(oid, (sums.get(oid) ?? 0) + idf);
  return sums;
}

function globFilter(glob: string | undefined): (path: string) => boolean {
  return glob === undefined ? () => true : pathFilter(glob.includes('/') ? glob : `**/${glob}`);
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

interface Counting {
  bytes: Buffer;
  /** The size of the file as a multiple of these bytes. */
  times: number;
}

/** A phrase may stand anywhere, so then the file is read whole. */
function readForCounts(
  index: CodeIndex,
  { path, stamp: { size } }: TreeFile,
  phrases: readonly string[],
  scratch: Scratch,
): Counting | undefined {
  if (size <= COUNTED_BYTES || phrases.length > 0) {
    const bytes = index.tree.read(path, scratch.room)?.bytes;
    return bytes && { bytes, times: 1 };
  }
  const bytes = readPart(join(index.tree.checkout.toplevel, path), 0, COUNTED_BYTES);
  return bytes && { bytes, times: size / COUNTED_BYTES };
}

/** Undefined: the file does not match. */
function scoreOf({ bytes, times }: Counting, file: TreeFile, sought: Sought, mean: number): number | undefined {
  const { terms, phrases, definitions } = sought;
  if (phrases.some((phrase) => !bytes.includes(phrase))) return undefined;
  const find = termFinder(bytes);
  const named = namesWith(definitions.map(({ name }) => name));
  const norm = K1 * (1 - B + (B * bytes.length * times) / mean);
  let score = phrases.length;
  for (const { text, idf, files } of terms) {
    const found = find(text).length * times;
    const count = found === 0 && times > 1 && files.has(file.oid) ? 1 : found; // it stands further on in the file
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
  let best = { line: 1, weight: 0 };
  for (const [line, weight] of weights)
    if (weight > best.weight || (weight === best.weight && line < best.line)) best = { line, weight };
  return best.line;
}

/** Undefined while the file is not parsed. */
function definitionsIn(index: CodeIndex, file: TreeFile): readonly Definition[] | undefined {
  const language = index.languages.of(file);
  if (language === undefined) return [];
  const structure = index.structures.known(file, language);
  return structure && (structure.facts?.definitions ?? []);
}

export async function codeSearch(
  index: CodeIndex,
  args: CodeToolArgs<'code_search'>,
): Promise<CodeToolResult<'code_search'>> {
  const view = await index.view();
  const query = parseQuery(args.query);
  const { terms, scored, total, pending, unparsed, skipped } = await search(index, view, query, args.glob);
  const shown = { terms, phrases: query.phrases, context: args.context_lines ?? CONTEXT };
  const limit = args.limit ?? args.max_results ?? LIMIT;
  return {
    results: fitting(scored.slice(0, limit).map((each) => toResult(index, each, shown))),
    total_found: total,
    basis: await index.basis({ pending: pending + unparsed, skipped }, view),
  };
}

type Shown = Omit<Sought, 'definitions'> & { context: number };

function toResult(index: CodeIndex, { file, score }: ScoredFile, { terms, phrases, context }: Shown): SearchResult {
  const bytes = index.tree.read(file.path)?.bytes ?? Buffer.alloc(0);
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
