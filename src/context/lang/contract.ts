import type { SymbolType } from '../../protocol/code.ts';
import type { ParsedLanguage } from './grammars.ts';

/**
 * What the parsers tell the rest of code context. Lines count from 1, columns from 0 in UTF-16 code units of the file decoded as
 * UTF-8: an invalid sequence becomes U+FFFD, a leading byte order mark stays a character of line 1, and only `\n` ends a line.
 * Facts hold no byte offset and no path.
 */

/** Swift has no grammar that loads. */
export type Language = ParsedLanguage | 'swift';

export interface Definition {
  name: string;
  kind: SymbolType;
  /** The position of the name. */
  line: number;
  column: number;
  /** The end of the whole definition. The column is exclusive. */
  endLine: number;
  endColumn: number;
  /** The text up to the body, with white space folded, at most 200 units. */
  signature: string;
  /** The name of the class, struct, interface, trait, enum, module or receiver type around it: `A` or `A.B`. */
  container?: string;
  /** Visible outside its file by the rule of the language, as far as one file can tell. */
  exported: boolean;
}

export interface ImportFact {
  /** As written: a module specifier, package path, namespace or header name, without quotes or brackets. */
  source: string;
  /** Empty when everything or only the side effect is imported. `*` is the whole module under an alias. */
  names: { name: string; alias?: string }[];
  line: number;
}

export interface FileFacts {
  definitions: Definition[];
  imports: ImportFact[];
  /** There may be more facts: the tree has syntax errors, or the facts come from the lexical scanner (Swift). */
  partial: boolean;
}

/** Facts as the store keeps them, see pack-facts.ts. Most are written at once and not read for long. */
export interface PackedFacts {
  data: Uint8Array;
  summary: PackedSummary;
  partial: boolean;
}

/** The names a file defines and the sources it imports from, each once, in a JSON array. */
export interface PackedSummary {
  /** The number of definitions, also of the same name. */
  symbols: number;
  names: string;
  imports: string;
}

/** A skip is stored like a fact, so that a file that kills a worker does so only once. */
export interface Skipped {
  skipped: 'too_large' | 'long_line' | 'timeout' | 'crash';
}

export interface Position {
  line: number;
  column: number;
}

export interface HitClass {
  kind: 'definition' | 'call' | 'type' | 'import' | 'usage' | 'comment' | 'string';
  /** The function around the hit binds the name, so no other file can mean it. */
  scope?: 'local';
  /** It stands for a member of something: behind a dot, as a key, or as the name of an argument. */
  isMember?: true;
}

/** An aborted signal rejects with the reason of the signal. */
export interface CodeParser {
  /** Starts a worker ahead of the first question. */
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

/** All lines and columns refer to this decoding. */
export function decodeSource(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
