/** What a slice's argument is: a path of the worktree, the name of a symbol, or words to search by. */
type ArgumentKind = 'path' | 'name' | 'words';

interface KindRow {
  argument: ArgumentKind;
  /** The options of this kind with their upper bounds, in addition to `budget` and `required`. */
  options: Partial<Record<'limit' | 'depth' | 'lines', number>>;
}

const MOST_LINES = 1_000_000;

/** Kinds correspond to the tools of an analysis server, and so do the bounds. */
export const SLICE_KINDS = {
  outline: { argument: 'path', options: {} },
  tree: { argument: 'path', options: { depth: 32 } },
  symbol: { argument: 'name', options: {} },
  source: { argument: 'name', options: {} },
  refs: { argument: 'name', options: { limit: 2_000 } },
  find: { argument: 'name', options: { limit: 50 } },
  search: { argument: 'words', options: { limit: 100 } },
  explore: { argument: 'words', options: {} },
  map: { argument: 'words', options: {} },
  hops: { argument: 'path', options: { depth: 3 } },
  file: { argument: 'path', options: { lines: MOST_LINES } },
} as const satisfies Record<string, KindRow>;

export type SliceKind = keyof typeof SLICE_KINDS;

/** The placeholders that each kind of argument accepts. */
export const PLACEHOLDERS: Readonly<Record<ArgumentKind, readonly ('task' | 'plan' | 'changed' | 'args')[]>> = {
  path: ['plan', 'changed', 'args'],
  name: ['args'],
  words: ['task', 'args'],
};

export type SliceArgument = { text: string } | { from: 'task' | 'plan' | 'changed' } | { from: 'args'; name: string };

export interface Slice {
  kind: SliceKind;
  argument: SliceArgument;
  limit?: number;
  depth?: number;
  lines?: { from: number; to: number };
  budget?: number;
  required: boolean;
  /** As its author wrote it, in one line. It becomes the heading. */
  text: string;
}

/** A defect of a manifest. */
export interface SliceProblem {
  code: 'wf_context';
  message: string;
  hint?: string;
}

export const CONTEXT_BUDGET = { usual: 4_000, least: 200, most: 32_000 } as const;

export function isSliceKind(text: string): text is SliceKind {
  return Object.hasOwn(SLICE_KINDS, text);
}
