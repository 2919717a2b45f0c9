import type { LineIndex } from '../../base/line-index.ts';
import type { Json } from '../../protocol/workflow.ts';

export const DEEPEST = 64;

/** A document with the offset of each value, by JSON pointer. */
export interface SourceTree {
  value: Json;
  offsets: ReadonlyMap<string, number>;
}

/** Why a file is no document. */
export class SourceFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number, more?: { cause: unknown }) {
    super(message, more);
    this.offset = offset;
  }
}

/** Counted from 1, as editors do. */
export interface Position {
  line: number;
  column: number;
}

export function positionAt(lines: LineIndex, offset: number): Position {
  const { line, column } = lines.position(offset);
  return { line, column: column + 1 };
}

/** RFC 6901. */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map(stepOf).join('');
}

export function stepOf(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The offset of a pointer, or of the nearest one that encloses it. */
export function offsetOf(offsets: ReadonlyMap<string, number>, pointer: string): number {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = offsets.get(at);
    if (found !== undefined) return found;
  }
  return offsets.get('') ?? 0;
}
