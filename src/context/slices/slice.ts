/** What a slice's argument is: a path of the worktree, the name of a symbol, or words to search by. */
type ArgumentKind = 'path' | 'name' | 'words';
type OptionName = 'limit' | 'depth' | 'lines' | 'budget' | 'required';
export type Placeholder = 'task' | 'plan' | 'changed' | 'args';

interface KindRow {
  argument: ArgumentKind;
  /** Beside `budget` and `required`, which all have; with its upper bound. */
  options: Partial<Record<'limit' | 'depth' | 'lines', number>>;
}

const MOST_LINES = 1_000_000;

/** Kinds are the tools of a server; bounds are those of the tools. */
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

export const PLACEHOLDERS: Readonly<Record<ArgumentKind, readonly Placeholder[]>> = {
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
  /** As its author wrote it, in one line: the heading it gets. */
  text: string;
}

/** A defect of a manifest, `wf_context`. */
export interface SliceProblem {
  code: 'wf_context';
  message: string;
  /** Where in the text it is, counted from 0; 0 for a mapping. */
  at: number;
  hint?: string;
}

export const CONTEXT_BUDGET = { usual: 4_000, least: 200, most: 32_000 } as const;

export const OPTION_NAMES: readonly OptionName[] = ['limit', 'depth', 'lines', 'budget', 'required'];

export function isSliceKind(text: string): text is SliceKind {
  return Object.hasOwn(SLICE_KINDS, text);
}
