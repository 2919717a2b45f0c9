import type { Definition } from '../../src/context/lang/contract.ts';
import type { Fix } from './cases.ts';

/** A function that a fix changed. */
export interface Wanted {
  path: string;
  name: string;
  line: number;
  endLine: number;
}

const IS_ROUTINE = new Set(['function', 'method']);

/** The innermost functions around the changed lines. An added line between two functions is in neither. */
export function wantedIn({ path, lines }: Fix['changed'][number], definitions: readonly Definition[]): Wanted[] {
  const routines = definitions
    .filter(({ kind }) => IS_ROUTINE.has(kind))
    .sort((a, b) => b.line - a.line || a.endLine - b.endLine);
  const found = new Map<number, Wanted>();
  for (const [from, to] of lines) {
    const isPoint = to === from + 1;
    for (const { name, line, endLine } of routines) {
      const holds = isPoint ? line <= from && to <= endLine : line <= to && from <= endLine;
      if (!holds) continue;
      found.set(line, { path, name, line, endLine });
      break;
    }
  }
  return [...found.values()];
}

/** What an answer shows, whoever gave it. */
export interface Shown {
  hasFile(path: string): boolean;
  /** Whether the answer names a function of a file. */
  names(wanted: Wanted): boolean;
  /** Lines shown. */
  body(wanted: Wanted): number;
  tokens: number;
}

/** Of the lines of a function. */
const ENOUGH = 0.8;

export function judge(wanted: readonly Wanted[], shown: Shown) {
  const isBody = (one: Wanted) => shown.body(one) >= ENOUGH * (one.endLine - one.line + 1);
  return {
    file: wanted.some(({ path }) => shown.hasFile(path)),
    named: wanted.some((one) => shown.names(one) || isBody(one)),
    body: wanted.some(isBody),
    tokens: shown.tokens,
  };
}

interface Piece {
  path: string;
  from: number;
  to: number;
}

/** An answer of pieces, and of places that are only named. */
export function shownBy(
  pieces: readonly Piece[],
  named: readonly { path: string; line: number }[],
  tokens: number,
): Shown {
  const files = new Set([...pieces, ...named].map(({ path }) => path));
  return {
    hasFile: (path) => files.has(path),
    names: ({ path, line }) =>
      pieces.some((piece) => piece.path === path && piece.from <= line && line <= piece.to) ||
      named.some((place) => place.path === path && place.line === line),
    body: ({ path, line, endLine }) =>
      pieces
        .filter((piece) => piece.path === path)
        .reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, endLine) - Math.max(from, line) + 1), 0),
    tokens,
  };
}
