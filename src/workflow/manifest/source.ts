import type { Json } from '../../protocol/workflow.ts';

export const DEEPEST = 64;

/** A document and where each of its values stands, by JSON pointer. */
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
