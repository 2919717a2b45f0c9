import type { CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import type { CodeIndex } from '../code-index.ts';
import { pathInside } from '../query/paths.ts';
import type { RepoGraph } from '../query/repo-graph.ts';
import { estimateTokens } from '../query/tokens.ts';
import { fileLines, nearFiles } from './near.ts';
import { bodyOf, Pages, type Piece, partsOfBody } from './pieces.ts';
import { type Question, readQuestion } from './question.ts';
import { rankUnits } from './rank.ts';
import type { RankedUnit } from './units.ts';
import { WEIGHTS, type Weights } from './weights.ts';

const BUDGET = 4_000;
/** As long as a question may wait for files that are not parsed yet. */
const PARSE_MS = 400;
const MOST_LEFT_OUT = 50;
/** Less room holds no body worth showing. */
const LEAST_ROOM = 60;
/** Further down a body says too little of the question, however small it is. */
const MOST_TRIED = 120;
const MOST_SIGNATURES = 400;
const MAX_SIGNATURE = 120;
/** Only of the best: parts of a large body that matters little help nobody. */
const PARTS_OF_BEST = 5;
/** Files whose neighbours are named. */
const STARTS = 8;

interface Exploring {
  index: CodeIndex;
  graph: RepoGraph;
}

/** The code that answers a question, within a budget: whole bodies of the best, then signatures, then files near them. Equal input gives equal bytes. */
export async function explore(
  { index, graph }: Exploring,
  args: CodeToolArgs<'explore_code'>,
  { parseMs = PARSE_MS, weights = WEIGHTS }: { parseMs?: number | undefined; weights?: Weights } = {},
): Promise<CodeToolResult<'explore_code'>> {
  const view = await index.view();
  const budget = args.budget_tokens ?? BUDGET;
  const question = readQuestion(args.question);
  const root = index.tree.checkout.toplevel;
  const isInside = scope((args.paths ?? []).map((given) => pathInside(root, given)));
  const given = new Set((args.files ?? []).map((path) => pathInside(root, path)));
  const ranking = await rankUnits({ index, view, question, isInside, given, weights, parseMs });
  const room = { all: budget, bodies: budget * weights.bodies, largest: budget * weights.largest };
  const bodies = takeBodies(ranking.units, { pages: new Pages(index), question, room });
  const rest = ranking.units.filter((unit) => !bodies.taken.has(unit));
  const listed = signatures(rest, budget - bodies.tokens);
  const starts = new Map([
    ...ranking.files.slice(0, STARTS).map(({ file, score }) => [file.path, score] as const),
    ...[...given].map((path) => [path, 1] as const),
  ]);
  const told = new Set([...bodies.pieces.map(({ file_path }) => file_path), ...listed.paths]);
  const near = nearFiles(await graph.get(view), starts, isInside).filter(({ path }) => !told.has(path));
  const further = fileLines(index, near, budget - bodies.tokens - listed.tokens);
  return {
    slices: bodies.pieces.map(({ tokens: _tokens, ...slice }) => slice),
    map: [...listed.lines, ...further.lines].join('\n'),
    tokens: Math.ceil(bodies.tokens + listed.tokens + further.tokens),
    left_out: rest.slice(listed.count, listed.count + MOST_LEFT_OUT).map(placeOf),
    // What is near rests on the structure of all files.
    basis: await index.basis({ pending: ranking.pending + index.pendingStructures, skipped: ranking.skipped }, view),
  };
}

function scope(roots: readonly string[]): (path: string) => boolean {
  if (roots.length === 0) return () => true;
  return (path) => roots.some((root) => root === '' || path === root || path.startsWith(`${root}/`));
}

function placeOf({ file, definition }: RankedUnit): string {
  return `${file.path}:${definition.line}`;
}

interface Taking {
  pages: Pages;
  question: Question;
  room: { all: number; bodies: number; largest: number };
}

/** Bodies in the order of their rank. One that does not fit is passed over for smaller ones. */
function takeBodies(units: readonly RankedUnit[], { pages, question, room }: Taking) {
  const taken = new Set<RankedUnit>();
  const pieces: Piece[] = [];
  let tokens = 0;
  const take = (unit: RankedUnit, wanted: readonly Piece[]) => {
    const cost = wanted.reduce((sum, piece) => sum + piece.tokens, 0);
    if (tokens + cost > room.bodies) return;
    taken.add(unit);
    pieces.push(...wanted);
    tokens += cost;
  };
  for (const [rank, unit] of units.slice(0, MOST_TRIED).entries()) {
    if (room.bodies - tokens < LEAST_ROOM) break;
    if (pieces.some((piece) => overlaps(piece, unit))) continue;
    const lines = pages.of(unit.file);
    if (lines === undefined) continue;
    const body = bodyOf(unit, lines);
    if (body.tokens <= room.largest) take(unit, [body]);
    else if (rank < PARTS_OF_BEST) take(unit, partsOfBody(unit, lines, question));
  }
  return { taken, pieces, tokens };
}

function overlaps(piece: Piece, { file, definition }: RankedUnit): boolean {
  return piece.file_path === file.path && piece.start_line <= definition.endLine && definition.line <= piece.end_line;
}

/** One line each, by file, best first. */
function signatures(units: readonly RankedUnit[], room: number) {
  const byFile = new Map<string, string[]>();
  let [tokens, count] = [0, 0];
  for (const { file, definition } of units.slice(0, MOST_SIGNATURES)) {
    const text = definition.signature === '' ? definition.name : definition.signature;
    const line = `  ${definition.line} ${text.length > MAX_SIGNATURE ? `${text.slice(0, MAX_SIGNATURE)}…` : text}`;
    const known = byFile.get(file.path);
    const cost = estimateTokens(`${line}\n`) + (known ? 0 : estimateTokens(`${file.path}\n`));
    if (tokens + cost > room) break;
    tokens += cost;
    count += 1;
    if (known) known.push(line);
    else byFile.set(file.path, [line]);
  }
  return { lines: [...byFile].flatMap(([path, lines]) => [path, ...lines]), paths: byFile.keys(), tokens, count };
}
