import { systemClock } from '../../../base/clock.ts';
import { settledWithin } from '../../../base/wait.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { CodeSymbol } from '../../../protocol/code.ts';
import type { Definition, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { FactStatus } from '../store/fact-table.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { candidateHashes } from '../words/sketch.ts';

export interface Found {
  file: TreeFile;
  definition: Definition;
}

export interface Definitions {
  found: Found[];
  pending: number;
  skipped: number;
  /** The lowest stage what was found rests on: a lexical scanner's is 1. */
  stage: 1 | 2;
}

/** As long as classification may take. */
const PARSE_MS = 400;

/**
 * The definitions of a name in this worktree. Files that hold the word but have no structure yet are parsed at once, as far as
 * the time allows; whatever has neither, is pending. So an empty answer can be proof before stage 2 is complete.
 */
export async function definitionsOf(
  index: CodeIndex,
  view: View,
  { name, ms = PARSE_MS }: { name: string; ms?: number | undefined },
): Promise<Definitions> {
  const candidates = candidatesFor(index, view, name);
  const { pending, skipped, partial } = await parseMissing(index, candidates, ms);
  return { found: definedHere(index, view, name), pending, skipped: skipped + partial, stage: partial > 0 ? 1 : 2 };
}

/** Definitions already extracted: other worktrees' content has no path here and so is none. */
export function definedHere(index: CodeIndex, view: View, name: string): Found[] {
  const rows = index.names.definers(name);
  const files = rows.flatMap(({ oid, lang }) => view.withBlob(oid).filter((file) => index.languages.of(file) === lang));
  const once = [...new Map(files.map((file) => [file.path, file])).values()];
  return once.flatMap((file) => named(index, file, name)).sort(byPlace);
}

function named(index: CodeIndex, file: TreeFile, name: string): Found[] {
  const here = knownDefinitions(index, file).filter((each) => each.name === name);
  return here.map((definition) => ({ file, definition }));
}

/** What a file is known to define; nothing is parsed for it. */
export function knownDefinitions(index: CodeIndex, file: TreeFile): readonly Definition[] {
  const language = index.languages.of(file);
  const structure = language && index.structures.known(file, language);
  return structure && !('skipped' in structure) ? structure.facts.definitions : [];
}

async function parseMissing(index: CodeIndex, { files, pending, skipped }: Candidates, ms: number) {
  const end = performance.now() + ms;
  const counts = { pending, skipped, partial: 0 };
  for (const file of files) {
    const language = index.languages.of(file);
    if (language === undefined) continue;
    const known = index.coverage.structure(file.oid, language, index.languages.extractor(language));
    const status = known ?? (performance.now() < end ? await within(parseNow(index, file, language), end) : undefined);
    if (status === undefined) counts.pending += 1;
    else if (status === 'partial') counts.partial += 1;
    else if (status !== 'ok') counts.skipped += 1;
  }
  return counts;
}

async function parseNow(index: CodeIndex, file: TreeFile, language: Language): Promise<FactStatus | undefined> {
  const structure = await index.structures.of(file, language);
  return structure && ('skipped' in structure ? structure.skipped : structure.status);
}

function byPlace(one: Found, other: Found): number {
  if (one.file.path !== other.file.path) return one.file.path < other.file.path ? -1 : 1;
  return one.definition.line - other.definition.line || one.definition.column - other.definition.column;
}

export function symbolId({ file, definition }: Found): string {
  const container = definition.container === undefined ? '' : `${definition.container}.`;
  return `${file.path}#${container}${definition.name}:${definition.line}`;
}

export function toSymbol(found: Found): CodeSymbol {
  const { file, definition } = found;
  return {
    id: symbolId(found),
    name: definition.name,
    symbol_type: definition.kind,
    location: {
      file: file.path,
      start_line: definition.line,
      start_column: definition.column,
      end_line: definition.endLine,
      end_column: definition.endColumn,
    },
    namespace: definition.container ?? null,
    visibility: definition.exported ? 'public' : 'private',
    signature: definition.signature,
  };
}

export interface Candidates {
  /** By path. */
  files: TreeFile[];
  /** Files without a sketch yet: they may hold the name as well. */
  pending: number;
  /** Files too large for a sketch. A binary one holds no code. */
  skipped: number;
}

/** The files that may hold a name: all that do, and a few by chance, which fall away when they are read. */
export function candidatesFor(index: CodeIndex, view: View, name: string): Candidates {
  const hashes = candidateHashes(name);
  const sets = index.words.holding(hashes, view.oids);
  const isHeld = (oid: Oid) => index.coverage.words(oid) === 'ok' && sets.every((set) => set.has(oid));
  const [smallest = view.oids] = sets.sort((a, b) => a.size - b.size);
  const files = [...smallest].filter(isHeld).flatMap((oid) => view.withBlob(oid));
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const unread = index.unread(view);
  const pending = unread.filter(({ oid }) => index.coverage.words(oid) === undefined).length;
  return { files, pending, skipped: unread.length - pending };
}

/** A parse that has begun in time is waited for so much longer: it takes milliseconds, but a busy machine may hold it up. */
const GRACE_MS = 3_000;

/** The result of a parse unless it takes too long; it goes on, and the next asker finds it done. */
export function within<T>(parse: Promise<T>, end: number): Promise<T | undefined> {
  return settledWithin(systemClock, Math.max(0, end - performance.now()) + GRACE_MS, parse);
}
