import type { Definition } from '../../lang/contract.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';

/** What is ranked and shown as one: a function, a method, or a type or value with what is not a unit of its own inside it. */
export interface Unit {
  file: TreeFile;
  definition: Definition;
  /** Where it begins with the comments and decorators above it. */
  from: number;
}

export interface RankedUnit extends Unit {
  score: number;
  /** The names it may call. */
  calls: readonly string[];
  isAside: boolean;
  /** Units of this ranking that it seems to call, and that seem to call it. Known of the best alone. */
  callees: string[];
  callers: string[];
}

const ROUTINES = new Set(['function', 'method', 'macro']);
/** A longer function with functions inside is a frame around them. */
const FRAME_LINES = 60;

export function isRoutine({ kind }: Definition): boolean {
  return ROUTINES.has(kind);
}

/** The units of a file, outer before inner. */
export function unitsOf(file: TreeFile, definitions: readonly Definition[]): Unit[] {
  const sorted = definitions
    .filter(({ kind }) => kind !== 'import' && kind !== 'module')
    .sort((a, b) => a.line - b.line || b.endLine - a.endLine || a.column - b.column);
  const units: Unit[] = [];
  const around: Definition[] = [];
  for (const definition of sorted) {
    while (around.length > 0 && (around.at(-1) as Definition).endLine < definition.line) around.pop();
    const routine = around.findLast(isRoutine);
    const isInner = routine !== undefined;
    const isOwn = !isInner || (isRoutine(definition) && routine.endLine - routine.line > FRAME_LINES);
    if (isOwn && !(isInner && definition.endLine === definition.line))
      units.push({ file, definition, from: definition.line });
    around.push(definition);
  }
  return units;
}

/** Which unit each line belongs to, by its number; -1 is none. The innermost wins; comments and decorators belong to what follows. */
export function ownersOf(units: Unit[], lines: readonly string[]): Int32Array {
  const owners = new Int32Array(lines.length + 2).fill(-1);
  for (const [at, unit] of units.entries()) {
    const { line, endLine } = unit.definition;
    owners.fill(at, line, Math.min(endLine, lines.length) + 1);
  }
  for (const [at, unit] of units.entries()) {
    let from = unit.definition.line;
    const outer = owners[from - 1];
    while (from > 1 && owners[from - 1] === outer && isAbove(lines[from - 2] ?? '')) from -= 1;
    owners.fill(at, from, unit.definition.line);
    unit.from = from;
  }
  return owners;
}

function isAbove(line: string): boolean {
  return /^\s*(\/\/|\/?\*|#|@|--|\[[A-Z]|"""|template\s*<)/.test(line);
}
