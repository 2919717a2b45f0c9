import type { CodeToolArgs, CodeToolResult, ExploredSlice } from '../../../protocol/code.ts';
import { type Definition, decodeSource } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { partsOf } from '../words/sketch.ts';
import { knownDefinitions } from './definitions.ts';
import { pageRank } from './edges.ts';
import { pathInside } from './paths.ts';
import type { Graph, RepoGraph } from './repo-graph.ts';
import { parseQuery, type ScoredFile, search } from './search.ts';
import { namesWith, TextLines } from './text-lines.ts';
import { estimateTokens } from './tokens.ts';

const BUDGET = 4_000;
const SEEDS = 30;
const MOST_FILES = 60;
const SMALL_LINES = 40;
/** Of a larger definition: the lines of its head, how many places in it are shown, and the lines around each. */
const MOST_HEAD = 12;
const MOST_PLACES = 3;
const BESIDE = 1;
/** Steps by use or import from what was found. */
const DEPTH = 2;
const MAX_BYTES = 1024 * 1024;
const MAP_SHARE = 0.12;
const MOST_LEFT_OUT = 50;
/** Code comes first. */
const PROSE_WEIGHT = 0.4;
const LEAST_SCORE = 0.01;
/** What JSON and headings around a slice cost. */
const SLICE_OVERHEAD = 40;
/** In characters. */
const MEAN_HEADING = 60;
/** Fewer tokens hold no piece worth showing. */
const LEAST_ROOM = 60;

interface Piece extends ExploredSlice {
  value: number;
}

/** The pieces of code that answer a question, by rank per token, within a budget. Equal input gives equal bytes. */
export async function explore(
  { index, graph }: { index: CodeIndex; graph: RepoGraph },
  args: CodeToolArgs<'explore_code'>,
): Promise<CodeToolResult<'explore_code'>> {
  const view = await index.view();
  const budget = args.budget_tokens ?? BUDGET;
  const query = parseQuery(args.question);
  const found = await search(index, view, query);
  const isInside = scope(index, args.paths);
  const links = await graph.get(view);
  const starts = startsOf(index, view, links, { args, scored: found.scored, isInside });
  const ranked = rankFiles(index, links, starts, isInside);
  const map = mapText(index, ranked, budget * MAP_SHARE);
  const terms = new Set(query.terms);
  const pieces = ranked.flatMap((each) => piecesOf(index, each, terms));
  const { slices, tokens, leftOut } = fill(pieces, budget - estimateTokens(map));
  return {
    slices,
    map,
    tokens: Math.ceil(tokens + estimateTokens(map)),
    left_out: leftOut,
    basis: await index.basis({ pending: found.pending + index.pendingStructures, skipped: found.skipped }, view),
  };
}

function scope(index: CodeIndex, paths: readonly string[] = []): (path: string) => boolean {
  const roots = paths.map((given) => pathInside(index.tree.checkout.toplevel, given));
  if (roots.length === 0) return () => true;
  return (path) => roots.some((root) => root === '' || path === root || path.startsWith(`${root}/`));
}

interface Asked {
  args: CodeToolArgs<'explore_code'>;
  scored: readonly ScoredFile[];
  isInside: (path: string) => boolean;
}

/** The files that search found, the question names or the caller gave, by number and with their weights. */
function startsOf(index: CodeIndex, view: View, links: Graph, { args, scored, isInside }: Asked): Map<number, number> {
  const starts = new Map<number, number>();
  const add = (path: string, weight: number) => {
    const number = links.numberOf.get(path);
    if (number !== undefined && isInside(path)) starts.set(number, (starts.get(number) ?? 0) + weight);
  };
  const seeds = scored.filter(({ file }) => isInside(file.path)).slice(0, SEEDS);
  const best = Math.max(1e-9, ...seeds.map(({ score }) => score));
  for (const { file, score } of seeds) add(file.path, score / best);
  for (const given of args.files ?? []) add(pathInside(index.tree.checkout.toplevel, given), 1);
  for (const [name] of args.question.matchAll(/[A-Za-z_$][\w$]{2,}/g)) {
    const rows = index.names.definers(name).flatMap(({ oid }) => view.withBlob(oid));
    const paths = rows.map(({ path }) => path).sort(); // the store has them in the order in which they were parsed
    for (const path of paths.slice(0, SEEDS)) add(path, 1 / paths.length);
  }
  return starts;
}

/** The files to start from, and what is near them by use and import. */
function rankFiles(index: CodeIndex, links: Graph, restart: Map<number, number>, isInside: Asked['isInside']) {
  const rank = restart.size > 0 ? pageRank(links.edges, restart) : links.base;
  const top = rank.reduce((most, value) => Math.max(most, value), 1e-12);
  const isNear = restart.size > 0 ? reach(links.edges, restart.keys()) : () => true;
  const ranked: ScoredFile[] = [];
  for (const [number, value] of rank.entries()) {
    const near = (restart.get(number) ?? 0) + 0.3 * (value / top);
    const file = links.files[number] as TreeFile;
    if (near <= LEAST_SCORE || !isNear(number) || !isInside(file.path)) continue;
    const score = index.languages.of(file) === undefined ? near * PROSE_WEIGHT : near;
    if (score > LEAST_SCORE) ranked.push({ file, score });
  }
  ranked.sort((a, b) => b.score - a.score || (a.file.path < b.file.path ? -1 : 1));
  return ranked.slice(0, MOST_FILES);
}

/** Tells which files are near: rank flows on, but files further away say nothing about the question. */
function reach(edges: Graph['edges'], from: Iterable<number>): (node: number) => boolean {
  const isReached = new Uint8Array(edges.nodes);
  let last = [...from];
  for (const node of last) isReached[node] = 1;
  for (let depth = 0; depth < DEPTH; depth++) {
    const next: number[] = [];
    for (const node of last) {
      for (const to of edges.targetsOf(node)) {
        if (isReached[to] === 1) continue;
        isReached[to] = 1;
        next.push(to);
      }
    }
    last = next;
  }
  return (node) => isReached[node] === 1;
}

/** The files that matter most with their main definitions, one line each. */
function mapText(index: CodeIndex, ranked: readonly ScoredFile[], room: number): string {
  const lines: string[] = [];
  let used = 0;
  for (const { file } of ranked) {
    const top = knownDefinitions(index, file).filter(
      ({ container, kind }) => container === undefined && kind !== 'import',
    );
    const shown = [...new Set(top.map(({ name }) => name))].slice(0, 8);
    const line = shown.length > 0 ? `${file.path}: ${shown.join(', ')}` : file.path;
    used += estimateTokens(`${line}\n`);
    if (used > room) break;
    lines.push(line);
  }
  return lines.join('\n');
}

interface SearchedFile {
  path: string;
  score: number;
  terms: ReadonlySet<string>;
  lines: TextLines;
  matches: readonly Match[];
}

/** Small definitions whole; of large ones the signature and the lines that match. */
function piecesOf(index: CodeIndex, { file, score }: ScoredFile, terms: ReadonlySet<string>): Piece[] {
  const bytes = index.tree.read(file.path, undefined, MAX_BYTES)?.bytes;
  if (!bytes) return [];
  const lines = new TextLines(decodeSource(bytes));
  const definitions = knownDefinitions(index, file).filter(({ kind }) => kind !== 'import' && kind !== 'module');
  const matches = matchesIn(lines, terms);
  const inName = countNamed(definitions, terms);
  const searched = { path: file.path, score, terms, lines, matches };
  const pieces = definitions.flatMap((definition, at) => piecesIn(searched, definition, inName.get(at) ?? 0));
  if (pieces.length > 0) return pieces;
  const first = matches.find(({ line }) => partsOf(lines.cut(line, line)).some((part) => terms.has(part)));
  const from = first?.line ?? 1;
  const to = Math.min(lines.count, from + MOST_HEAD - 1);
  return [toPiece(searched, { from, to }, 'matches the question', score)];
}

/** How many terms each name has for parts, by the place of its definition. */
function countNamed(definitions: readonly Definition[], terms: ReadonlySet<string>): Map<number, number> {
  const named = namesWith(definitions.map(({ name }) => name));
  const counts = new Map<number, number>();
  for (const term of terms) for (const at of named(term)) counts.set(at, (counts.get(at) ?? 0) + 1);
  return counts;
}

function piecesIn(file: SearchedFile, definition: Definition, inName: number): Piece[] {
  const { lines, terms, score, matches: all } = file;
  const { line, endLine, name } = definition;
  const matches = all.slice(firstFrom(all, line), firstFrom(all, endLine + 1));
  const inBody = new Set(matches.flatMap(({ found }) => found)).size;
  const worth = (hits: number) => score * (0.05 + (terms.size === 0 ? 0 : hits / (3 * terms.size)));
  const mentions = inBody > 0 ? `${name} mentions it` : `${name} is near it`;
  const why = inName > 0 ? `defines ${name}` : mentions;
  const isSmall = endLine - line < SMALL_LINES;
  const to = isSmall ? endLine : headEnd(lines, definition, matches.length > 0);
  const head = toPiece(file, { from: line, to }, why, worth(2 * inName + inBody));
  if (isSmall) return [head];
  const places = placesOf(matches.filter((match) => match.line > to)).map(({ from, to: end, found }) => {
    const range = { from: Math.max(to + 1, from - BESIDE), to: Math.min(endLine, end + BESIDE) };
    return toPiece(file, range, mentions, worth(found.size));
  });
  return [head, ...places];
}

interface Match {
  line: number;
  found: string[];
}

/** The lines of a file that hold a term, found once for all its definitions. */
function matchesIn(lines: TextLines, terms: ReadonlySet<string>): Match[] {
  const folded = lines.folded();
  const found = new Map<number, string[]>();
  for (const term of terms) {
    for (const line of folded.linesWith(term)) {
      const here = found.get(line);
      if (here) here.push(term);
      else found.set(line, [term]);
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([line, here]) => ({ line, found: here }));
}

/** The index of the first match on this line or after it. A binary search: definitions and matches may both be thousands. */
function firstFrom(matches: readonly Match[], line: number): number {
  let low = 0;
  for (let high = matches.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((matches[middle] as Match).line < line) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where the signature ends; some lines more if nothing else of the body is shown. */
function headEnd(lines: TextLines, { line, signature }: Definition, isEnough: boolean): number {
  const wanted = signature.replace(/\s+/g, '');
  let read = '';
  for (let at = line; at < line + MOST_HEAD; at++) {
    read += lines.cut(at, at).replace(/\s+/g, '');
    if (isEnough && read.includes(wanted)) return at;
  }
  return line + MOST_HEAD - 1;
}

/** Lines that match, close ones together. Places with most of the question come first. */
function placesOf(matches: readonly Match[]): { from: number; to: number; found: Set<string> }[] {
  const places: { from: number; to: number; found: Set<string> }[] = [];
  for (const { line, found } of matches) {
    const last = places.at(-1);
    if (last !== undefined && line - last.to <= 2 * BESIDE + 1) {
      last.to = line;
      for (const term of found) last.found.add(term);
    } else places.push({ from: line, to: line, found: new Set(found) });
  }
  return places.sort((a, b) => b.found.size - a.found.size || a.from - b.from).slice(0, MOST_PLACES);
}

function toPiece(
  { path, lines }: SearchedFile,
  { from, to }: { from: number; to: number },
  why: string,
  value: number,
): Piece {
  return { file_path: path, start_line: from, end_line: Math.max(from, to), why, text: lines.cut(from, to), value };
}

function costOf({ text, file_path, why }: Piece): number {
  return estimateTokens(`${text}\n${file_path}\n${why}`) + SLICE_OVERHEAD;
}

/** Takes pieces by value per token. What overlaps a chosen piece is left out. */
function fill(pieces: readonly Piece[], room: number): { slices: ExploredSlice[]; tokens: number; leftOut: string[] } {
  // Sorted by length, which is near enough: tokens are counted only for what is considered.
  const weighed = pieces.map((piece) => ({ piece, worth: piece.value / Math.sqrt(piece.text.length + MEAN_HEADING) }));
  weighed.sort(
    ({ piece: a, worth: one }, { piece: b, worth: other }) =>
      other - one || (a.file_path < b.file_path ? -1 : 1) || a.start_line - b.start_line,
  );
  const chosen: Piece[] = [];
  const leftOut: string[] = [];
  let tokens = 0;
  for (const { piece } of weighed) {
    const isFull = room - tokens <= LEAST_ROOM;
    if (isFull && leftOut.length === MOST_LEFT_OUT) break;
    if (chosen.some((other) => overlaps(other, piece))) continue;
    const taken = isFull ? undefined : fitted(piece, room - tokens);
    if (taken === undefined) {
      if (leftOut.length < MOST_LEFT_OUT) leftOut.push(`${piece.file_path}:${piece.start_line}`);
      continue;
    }
    chosen.push(taken.piece);
    tokens += taken.tokens;
  }
  const slices = chosen.map(({ value: _value, ...slice }) => slice);
  return { slices, tokens, leftOut };
}

/** The whole piece, or at least three of its first lines if they fit. */
function fitted(piece: Piece, room: number): { piece: Piece; tokens: number } | undefined {
  const tokens = costOf(piece);
  if (tokens <= room) return { piece, tokens };
  const lines = piece.text.split('\n');
  for (let count = Math.min(lines.length - 1, 20); count >= 3; count--) {
    const cut = { ...piece, text: lines.slice(0, count).join('\n'), end_line: piece.start_line + count - 1 };
    const cost = costOf(cut);
    if (cost <= room) return { piece: cut, tokens: cost };
  }
  return undefined;
}

function overlaps(one: ExploredSlice, other: ExploredSlice): boolean {
  return one.file_path === other.file_path && one.start_line <= other.end_line && other.start_line <= one.end_line;
}
