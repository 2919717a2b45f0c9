import { join } from 'node:path';
import type { CodeReference } from '../../../protocol/code.ts';
import { decodeSource, type HitClass, type Language } from '../../lang/contract.ts';
import { readPart } from '../tree/read-file.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Hits } from '../words/hits.ts';
import { CONFIDENCES, type Judge, type Judged } from './confidence.ts';
import { type Found, symbolId } from './definitions.ts';
import type { Classes, Question } from './kept-classes.ts';
import type { Whole } from './paging.ts';

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
  /** The definitions that were asked about: references to them come first. */
  chosen: ReadonlySet<Found>;
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
 * rest is made when one is shown; its line is read from the file. `found` is ordered by path.
 */
export function referenceList(
  found: readonly FileHits[],
  telling: Telling,
): Pick<Whole<CodeReference>, 'count' | 'items'> {
  const { root, name, definitions } = telling;
  const count = found.reduce((sum, { hits }) => sum + hits.count, 0);
  /** The hits of all files are numbered through. This is where those of each file begin. */
  const begins: number[] = [];
  // By the number of a hit: its file, its type, its rank, and the definition it means, counted from 1.
  const files = new Uint32Array(count);
  const types = new Uint8Array(count);
  const ranks = new Uint8Array(count);
  const targets = new Uint32Array(count);
  const numbers = new Map(definitions.map((each, at) => [each, at + 1]));
  let hit = 0;
  for (const [file, each] of found.entries()) {
    begins.push(hit);
    for (const { type, judged } of tell(each, telling)) {
      const isChosen = judged.target !== undefined && telling.chosen.has(judged.target);
      files[hit] = file;
      types[hit] = TYPES.indexOf(type);
      ranks[hit] = CONFIDENCES.indexOf(judged.confidence) + (isChosen ? 0 : NOT_CHOSEN);
      targets[hit] = (judged.target && numbers.get(judged.target)) ?? NO_TARGET;
      hit += 1;
    }
  }
  const order = inOrder(ranks, types, telling.hasText);
  // What `show` does not name is freed: `telling` holds on to all files as they were.
  const show = (shown: number): CodeReference => {
    const number = files[shown] as number;
    const { file, hits } = found[number] as FileHits;
    const { offset, line, column } = hits.at(shown - (begins[number] as number));
    const target = definitions[(targets[shown] as number) - 1];
    return {
      location: {
        file: file.path,
        start_line: line,
        start_column: column,
        end_line: line,
        end_column: column + name.length,
      },
      reference_type: TYPES[types[shown] as number] as ReferenceType,
      ...(target !== undefined && { target_symbol: symbolId(target) }),
      confidence: CONFIDENCES[(ranks[shown] as number) % NOT_CHOSEN] as CodeReference['confidence'],
      line_text: lineAround(join(root, file.path), offset),
    };
  };
  const items = function* (from: number, to: number): Generator<CodeReference> {
    for (const each of order.subarray(from, to)) yield show(each);
  };
  return { count: order.length, items };
}

/** Rank by rank. Within a rank the numbers are in order of file and place already. */
function inOrder(ranks: Uint8Array, types: Uint8Array, hasText: boolean): Uint32Array {
  const order = new Uint32Array(ranks.length);
  let count = 0;
  for (let rank = 0; rank < 2 * NOT_CHOSEN; rank++)
    for (let hit = ranks.indexOf(rank); hit !== -1; hit = ranks.indexOf(rank, hit + 1))
      if (hasText || TYPES[types[hit] as number] !== 'Text') order[count++] = hit;
  return order.slice(0, count);
}

function* tell(
  { file, language, hits }: FileHits,
  { judge, name, classes: classesOf }: Telling,
): Generator<{ type: ReferenceType; judged: Judged }> {
  const classes = language && classesOf({ oid: file.oid, language, name });
  const isProse = language === undefined && PROSE.test(file.path);
  for (let at = 0; at < hits.count; at++) {
    const { line } = hits.at(at);
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
