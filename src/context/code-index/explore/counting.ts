import { freeBytes } from '../../../base/free-bytes.ts';
import type { CodeIndex } from '../code-index.ts';
import { knownDefinitions } from '../query/definitions.ts';
import { byBytes, TextLines, termFinder } from '../query/text-lines.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import type { Weighed } from './candidates.ts';
import { ownersOf, type Unit, unitsOf } from './units.ts';

/** What a file and its units say of a question. */
export interface Counted {
  file: TreeFile;
  units: Unit[];
  /** How often each unit says each concept: unit by unit. */
  counts: Float32Array;
  /** In bytes, indentation left out. */
  lengths: Float32Array;
  /** The names each unit may call: words with a bracket behind. */
  calls: string[][];
  /** How often the whole file says each concept. */
  total: Float32Array;
  bytes: number;
}

/** Bundles and data: what they say would weigh more than all code. */
const MOST_BYTES = 256 * 1024;
const CALL = /(?<![\w$])([A-Za-z_$][\w$]*)\s*\(/g;

/** Undefined: the file is gone or too large. */
export function countIn(index: CodeIndex, file: TreeFile, concepts: readonly Weighed[]): Counted | undefined {
  if (file.stamp.size > MOST_BYTES) return undefined;
  const bytes = index.tree.read(file.path, undefined, MOST_BYTES)?.bytes;
  if (!bytes) return undefined;
  const text = byBytes(bytes);
  const lines = text.split('\n');
  const units = unitsOf(file, knownDefinitions(index, file));
  const owners = ownersOf(units, lines);
  const said = saidIn({ bytes, text, owners, units: units.length }, file, concepts);
  freeBytes(bytes);
  return { file, units, ...said, ...linesOf(lines, owners, units.length), bytes: text.length };
}

interface Read {
  bytes: Buffer;
  text: string;
  owners: Int32Array;
  units: number;
}

function saidIn({ bytes, text, owners, units }: Read, file: TreeFile, concepts: readonly Weighed[]) {
  const counts = new Float32Array(units * concepts.length);
  const total = new Float32Array(concepts.length);
  const place = new TextLines(text);
  const find = termFinder(bytes);
  for (const [at, { forms, holders }] of concepts.entries()) {
    if (!holders.has(file.oid)) continue;
    for (const offset of forms.flatMap(find)) {
      total[at] = (total[at] as number) + 1;
      const owner = owners[place.lineAt(offset)] as number;
      const slot = owner * concepts.length + at;
      if (owner >= 0) counts[slot] = (counts[slot] as number) + 1;
    }
  }
  return { counts, total };
}

function linesOf(lines: readonly string[], owners: Int32Array, units: number) {
  const lengths = new Float32Array(units);
  const calls: string[][] = Array.from({ length: units }, () => []);
  for (const [at, line] of lines.entries()) {
    const owner = owners[at + 1] as number;
    if (owner < 0) continue;
    lengths[owner] = (lengths[owner] as number) + line.trim().length + 1;
    for (const [, name = ''] of line.matchAll(CALL)) calls[owner]?.push(name);
  }
  return { lengths, calls };
}
