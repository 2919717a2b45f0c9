import type { Basis, OutlineGroup, SymbolType } from '../../protocol/code.ts';

/** What every question names, and whether it wants to wait for a complete answer (C-014). */
interface Question {
  worktreePath: string;
  require?: 'complete' | undefined;
}

export interface GetFileOutlineArgs extends Question {
  filePath: string;
}
export interface GetSymbolReferencesArgs extends Question {
  symbolName: string;
  /** With `line`, hits of the definition there come first. */
  filePath?: string;
  line?: number;
  includeText?: boolean;
  /** The most that are returned; all of them unless told. */
  limit?: number;
}
export interface GetDirectoryOutlineArgs extends Question {
  directoryPath: string;
  includes?: OutlineGroup[];
  depth?: number;
}
export interface GetSymbolArgs extends Question {
  symbolName: string;
  includeSource?: boolean;
  filePath?: string;
}
export interface FindSymbolsArgs extends Question {
  query: string;
  symbolType?: SymbolType;
  limit?: number;
}
export interface CodeSearchArgs extends Question {
  query: string;
  limit?: number;
  contextLines?: number;
  glob?: string;
}
export interface ExploreCodeArgs extends Question {
  question: string;
  budgetTokens?: number;
  files?: string[];
  paths?: string[];
}
export interface IndexCodeArgs {
  worktreePath: string;
  wait?: 'usable' | 'complete';
}
export interface HopsArgs extends Question {
  files: string[];
  depth?: number;
}

export interface FileOutline {
  functions: { name: string; signature: string; line: number }[];
  /** Classes and structs. */
  classes: { name: string; line: number }[];
  methods: { name: string; signature: string; line: number; container?: string }[];
  /** Interfaces, enums, aliases. */
  types: { name: string; kind: string; line: number }[];
  constants: { name: string; line: number }[];
  basis?: Basis;
}

export interface SymbolReference {
  filePath: string;
  line: number;
  column: number;
  kind: string;
  confidence: string;
  lineText: string;
}

export interface Definition {
  name: string;
  kind: string;
  filePath: string;
  line: number;
  column: number;
  endLine: number;
  container: string | null;
  visibility: string;
  signature: string;
  source?: string;
}

export interface SearchHit {
  filePath: string;
  /** Null when the server does not tell and the snippet occurs more than once. */
  line: number | null;
  lineText: string;
  snippet: string;
  language: string | null;
  score: number;
}

export interface OutlineEntry {
  name: string;
  kind: string;
  line: number | null;
  signature: string;
  container?: string;
}
export interface DirectoryOutline {
  files: { filePath: string; symbols: OutlineEntry[] }[];
  summary: string;
  basis?: Basis;
}

export interface Exploration {
  slices: { filePath: string; startLine: number; endLine: number; why: string; text: string }[];
  map: string;
  tokens: number;
  leftOut: string[];
  basis?: Basis;
}

export interface IndexReport {
  status: 'success' | 'partial';
  filesIndexed: number;
  symbolsFound: number;
  errors: string[];
  durationMs: number;
  reused?: number;
  pending?: number;
  basis?: Basis;
}

export interface Hops {
  files: { filePath: string; distance: number; via: string }[] | 'unknown';
  basis?: Basis;
}

/** A list that also knows what it rests on. Not enumerable, so that a list stays equal to a list. */
export type Listed<T> = T[] & { readonly basis?: Basis };

export function listed<T>(items: T[], basis: Basis | undefined): Listed<T> {
  return basis === undefined ? items : Object.defineProperty(items, 'basis', { value: basis });
}

/** An answer without a basis comes from a server that cannot vouch for it. */
export function isComplete(answer: { readonly basis?: Basis }): boolean {
  return answer.basis?.complete ?? false;
}
