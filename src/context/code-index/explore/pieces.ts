import type { ExploredSlice } from '../../../protocol/code.ts';
import { decodeSource } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { TextLines } from '../query/text-lines.ts';
import { estimateTokens } from '../query/tokens.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { nameOf } from './calls.ts';
import type { Question } from './question.ts';
import type { RankedUnit } from './units.ts';

/** Of a body that is too large: the lines of its head, how many places in it are shown, and the lines around each. */
const MOST_HEAD = 12;
const MOST_PLACES = 3;
const BESIDE = 2;
const MAX_BYTES = 1024 * 1024;
/** What JSON and the heading around a slice cost. */
const SLICE_OVERHEAD = 40;
const MOST_NEIGHBOURS = 4;

/** The text of files, each read once. */
export class Pages {
  readonly #index: CodeIndex;
  readonly #kept = new Map<string, TextLines | undefined>();

  constructor(index: CodeIndex) {
    this.#index = index;
  }

  of(file: TreeFile): TextLines | undefined {
    if (!this.#kept.has(file.path)) {
      const bytes = this.#index.tree.read(file.path, undefined, MAX_BYTES)?.bytes;
      this.#kept.set(file.path, bytes && new TextLines(decodeSource(bytes)));
    }
    return this.#kept.get(file.path);
  }
}

export interface Piece extends ExploredSlice {
  tokens: number;
}

/** The whole body. */
export function bodyOf(unit: RankedUnit, lines: TextLines): Piece {
  return toPiece(unit, lines, { from: unit.definition.line, to: unit.definition.endLine });
}

/** The head of a body that is too large, and where it says most of the question. */
export function partsOfBody(unit: RankedUnit, lines: TextLines, question: Question): Piece[] {
  const { line, endLine } = unit.definition;
  const to = headEnd(unit, lines);
  const places = placesIn(lines, { from: to + 1, to: endLine }, question);
  return [
    toPiece(unit, lines, { from: line, to }),
    ...places
      .map((range) => toPiece(unit, lines, range))
      .map((piece) => ({ ...piece, why: `more of ${unit.definition.name}` })),
  ];
}

/** Where the signature ends. */
function headEnd({ definition: { line, endLine, signature } }: RankedUnit, lines: TextLines): number {
  const wanted = signature.replace(/\s+/g, '');
  const last = Math.min(endLine, line + MOST_HEAD - 1);
  let read = '';
  for (let at = line; at < last; at++) {
    read += lines.cut(at, at).replace(/\s+/g, '');
    if (read.includes(wanted)) return at;
  }
  return last;
}

interface Range {
  from: number;
  to: number;
}

/** Close lines together. Places with most of the question come first, and are given in the order of the text. */
function placesIn(lines: TextLines, { from, to }: Range, { concepts }: Question): Range[] {
  const places: (Range & { found: Set<number> })[] = [];
  for (let line = from; line <= to; line++) {
    const text = lines.cut(line, line).toLowerCase();
    const here = concepts.flatMap(({ forms }, at) => (forms.some((form) => text.includes(form)) ? [at] : []));
    if (here.length === 0) continue;
    const last = places.at(-1);
    if (last !== undefined && line - last.to <= 2 * BESIDE + 1) {
      last.to = line;
      for (const at of here) last.found.add(at);
    } else places.push({ from: line, to: line, found: new Set(here) });
  }
  const best = places.sort((a, b) => b.found.size - a.found.size || a.from - b.from).slice(0, MOST_PLACES);
  const widened = best.map((place) => ({
    from: Math.max(from, place.from - BESIDE),
    to: Math.min(to, place.to + BESIDE),
  }));
  return widened.sort((a, b) => a.from - b.from);
}

function toPiece(unit: RankedUnit, lines: TextLines, { from, to }: Range): Piece {
  const slice = {
    file_path: unit.file.path,
    start_line: from,
    end_line: to,
    why: whyOf(unit),
    text: lines.cut(from, to),
  };
  return { ...slice, tokens: estimateTokens(`${slice.text}\n${slice.file_path}\n${slice.why}`) + SLICE_OVERHEAD };
}

function whyOf(unit: RankedUnit): string {
  const listed = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${what} ${names.slice(0, MOST_NEIGHBOURS).join(', ')}`];
  return [`defines ${nameOf(unit)}`, ...listed('calls', unit.callees), ...listed('called by', unit.callers)].join('; ');
}
