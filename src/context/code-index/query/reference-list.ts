import { join } from 'node:path';
import type { CodeReference } from '../../../protocol/code.ts';
import { decodeSource, type HitClass, type Language } from '../../lang/contract.ts';
import { readPart } from '../tree/read-file.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Hits } from '../words/hits.ts';
import type { Classes, Question } from './classifier.ts';
import { CONFIDENCES, type Judge, type Judged } from './confidence.ts';
import { type Found, symbolId } from './definitions.ts';

export interface FileHits {
  file: TreeFile;
  language: Language | undefined;
  hits: Hits;
}

interface Telling {
  /** The worktree. */
  root: string;
  name: string;
  definitions: readonly Found[];
  /** The definition that was asked about: references to it come first. */
  chosen: Found | undefined;
  /** Whether comments, strings and prose are wanted too. */
  hasText: boolean;
  judge: Judge;
  classes: (question: Pick<Question, 'oid' | 'language' | 'name'>) => Classes | undefined;
}

const TYPES = ['Definition', 'Call', 'Type', 'Import', 'Usage', 'Text'] as const;
type ReferenceType = (typeof TYPES)[number];
const TYPE_OF: Record<HitClass['kind'], ReferenceType> = {
  definition: 'Definition',
  call: 'Call',
  type: 'Type',
  import: 'Import',
  usage: 'Usage',
  comment: 'Text',
  string: 'Text',
};
/** Text about code: shown only with `include_text`. */
const PROSE = /[^/]\.(md|markdown|rst|txt|adoc|json|lock|csv|svg|po|log|map)$/i;
/** In bytes. */
const MAX_LINE_TEXT = 300;
const NEWLINE = 0x0a;
/** Added to the rank of all but the references to the chosen definition, which come first. */
const NOT_CHOSEN = CONFIDENCES.length;
const NO_TARGET = 0;

/**
 * All references to a name, in the order in which they are shown. Each takes a few bytes, because a common name has a million. The
 * rest is made when one is shown; its line is read from the file.
 */
export class ReferenceList {
  readonly #root: string;
  readonly #name: string;
  readonly #definitions: readonly Found[];
  readonly #found: readonly FileHits[];
  /** The hits of all files are numbered through. This is where those of each file begin. */
  readonly #begins: readonly number[];
  /** By the number of a hit: its file, its type, its rank, and the definition it means, counted from 1. */
  readonly #files: Uint32Array;
  readonly #types: Uint8Array;
  readonly #ranks: Uint8Array;
  readonly #targets: Uint32Array;
  /** Numbers of the hits that are shown. */
  readonly #order: Uint32Array;

  /** `found` is ordered by path. `telling` is not kept: it holds on to all files as they were. */
  constructor(found: readonly FileHits[], telling: Telling) {
    this.#root = telling.root;
    this.#name = telling.name;
    this.#definitions = telling.definitions;
    this.#found = found;
    let count = 0;
    this.#begins = found.map(({ hits }) => {
      const begin = count;
      count += hits.count;
      return begin;
    });
    this.#files = new Uint32Array(count);
    this.#types = new Uint8Array(count);
    this.#ranks = new Uint8Array(count);
    this.#targets = new Uint32Array(count);
    this.#tellAll(telling);
    this.#order = this.#inOrder(telling.hasText);
  }

  get count(): number {
    return this.#order.length;
  }

  *items(from: number, to: number): Generator<CodeReference> {
    for (const hit of this.#order.subarray(from, to)) yield this.#show(hit);
  }

  #tellAll(telling: Telling): void {
    const numbers = new Map(this.#definitions.map((each, at) => [each, at + 1]));
    let hit = 0;
    for (const [file, found] of this.#found.entries()) {
      for (const { type, judged } of tell(found, telling)) {
        const isChosen = telling.chosen !== undefined && judged.target === telling.chosen;
        this.#files[hit] = file;
        this.#types[hit] = TYPES.indexOf(type);
        this.#ranks[hit] = CONFIDENCES.indexOf(judged.confidence) + (isChosen ? 0 : NOT_CHOSEN);
        this.#targets[hit] = (judged.target && numbers.get(judged.target)) ?? NO_TARGET;
        hit += 1;
      }
    }
  }

  /** Rank by rank. Within a rank the numbers are in order of file and place already. */
  #inOrder(hasText: boolean): Uint32Array {
    const ranks = this.#ranks;
    const order = new Uint32Array(ranks.length);
    let count = 0;
    for (let rank = 0; rank < 2 * NOT_CHOSEN; rank++)
      for (let hit = ranks.indexOf(rank); hit !== -1; hit = ranks.indexOf(rank, hit + 1))
        if (hasText || TYPES[this.#types[hit] as number] !== 'Text') order[count++] = hit;
    return order.slice(0, count);
  }

  #show(hit: number): CodeReference {
    const number = this.#files[hit] as number;
    const { file, hits } = this.#found[number] as FileHits;
    const { offset, line, column } = hits.at(hit - (this.#begins[number] as number));
    const target = this.#definitions[(this.#targets[hit] as number) - 1];
    return {
      location: {
        file: file.path,
        start_line: line,
        start_column: column,
        end_line: line,
        end_column: column + this.#name.length,
      },
      reference_type: TYPES[this.#types[hit] as number] as ReferenceType,
      ...(target !== undefined && { target_symbol: symbolId(target) }),
      confidence: CONFIDENCES[(this.#ranks[hit] as number) % NOT_CHOSEN] as CodeReference['confidence'],
      line_text: lineAround(join(this.#root, file.path), offset),
    };
  }
}

function* tell(
  { file, language, hits }: FileHits,
  { judge, name, classes: classesOf }: Telling,
): Generator<{ type: ReferenceType; judged: Judged }> {
  const classes = language && classesOf({ oid: file.oid, language, name });
  const isProse = language === undefined && PROSE.test(file.path);
  for (const [at, { line }] of hits.entries()) {
    const found = Array.isArray(classes) ? (classes[at] as HitClass | undefined) : undefined;
    if (language && found) yield { type: TYPE_OF[found.kind], judged: judge.judge({ file, language, line, found }) };
    else yield { type: isProse ? 'Text' : 'Usage', judged: { confidence: 'lexical' } };
  }
}

/** The line around a place in a file, or a part of it if it is very long. Reads no more: the file may be megabytes. */
function lineAround(file: string, offset: number): string {
  const begin = Math.max(0, offset - MAX_LINE_TEXT);
  const bytes = readPart(file, begin, 2 * MAX_LINE_TEXT) ?? Buffer.alloc(0);
  const at = offset - begin;
  const start = at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1;
  const newline = bytes.indexOf(NEWLINE, at);
  const end = newline === -1 ? bytes.length : newline;
  const from = end - start > MAX_LINE_TEXT ? Math.max(start, at - MAX_LINE_TEXT / 2) : start;
  return decodeSource(bytes.subarray(from, Math.min(end, from + MAX_LINE_TEXT))).trim();
}
