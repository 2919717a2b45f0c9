/**
 * What the language side tells the rest of code context. Lines count from 1, columns from 0 in UTF-16 code units of the
 * file decoded as UTF-8: an invalid sequence becomes U+FFFD, a leading byte order mark stays a character of line 1, and
 * only `\n` ends a line. Facts hold no byte offset and no path.
 *
 * `languageOf` is in language-of.ts, `ExtractorVersions` in extractor-versions.ts, `ParserPool` in parser-pool.ts.
 */
export const LANGUAGES = [
  'typescript',
  'tsx',
  'javascript',
  'python',
  'go',
  'rust',
  'java',
  'kotlin',
  'scala',
  'c',
  'cpp',
  'objc',
  'csharp',
  'php',
  'ruby',
  'swift',
  'bash',
] as const;

export type Language = (typeof LANGUAGES)[number];

export type SymbolKind =
  | 'module'
  | 'class'
  | 'interface'
  | 'method'
  | 'function'
  | 'constant'
  | 'variable'
  | 'enum'
  | 'struct'
  | 'type'
  | 'macro'
  | 'import';

export interface Definition {
  name: string;
  kind: SymbolKind;
  /** Where the name stands. */
  line: number;
  column: number;
  /** Where the whole definition ends; the column is exclusive. */
  endLine: number;
  endColumn: number;
  /** The definition's first line of text, up to its body, white space folded, at most 200 units. */
  signature: string;
  /** The name of the class, struct, interface, trait, enum, module or receiver type around it: `A` or `A.B`. */
  container?: string;
  /** Visible outside its file by the language's own rule, so far as one file tells. */
  exported: boolean;
}

export interface ImportFact {
  /** As written: a module specifier, package path, namespace or header name, without quotes or brackets. */
  source: string;
  /** Empty when everything or only the side effect is taken; `*` is the whole under an alias. */
  names: { name: string; alias?: string }[];
  line: number;
}

export interface FileFacts {
  definitions: Definition[];
  imports: ImportFact[];
  /** The tree had syntax errors, or the facts come from the lexical scanner (Swift): there may be more. */
  partial: boolean;
}

/** Facts as the store keeps them (pack-facts.ts): most are written at once and not read for long. */
export interface PackedFacts {
  data: Uint8Array;
  summary: PackedSummary;
  partial: boolean;
}

/** What a file defines and where it takes from, by name alone: each name once, in a JSON array. */
export interface PackedSummary {
  /** Definitions, those of one name each counted. */
  symbols: number;
  names: string;
  imports: string;
}

/** A skip is a fact of its own: stored, it keeps a poison file from costing a worker twice. */
export interface Skipped {
  skipped: 'too_large' | 'long_line' | 'timeout' | 'crash';
}

export interface Position {
  line: number;
  column: number;
}

export interface HitClass {
  kind: 'definition' | 'call' | 'type' | 'import' | 'usage' | 'comment' | 'string';
  /** The name is bound inside the function around the hit: no other file can mean it. */
  scope?: 'local';
}

/** Implemented by `ParserPool` (`new ParserPool({ workers })`). An aborted signal rejects with the signal's reason. */
export interface CodeParser {
  /** Begins what takes long, before the first question. */
  prepare(): void;
  extract(source: Uint8Array, language: Language, signal?: AbortSignal): Promise<PackedFacts | Skipped>;
  /** One class per hit, in the order of the hits. A hit is the position of a word's first unit. */
  classify(request: ClassifyRequest, signal?: AbortSignal): Promise<HitClass[] | Skipped>;
  close(): Promise<void>;
}

export interface ClassifyRequest {
  source: Uint8Array;
  language: Language;
  hits: readonly Position[];
}

/** The one decoding all lines and columns rest on. */
export function decodeSource(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
