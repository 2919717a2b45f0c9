import { systemClock } from '../../../base/clock.ts';
import { settledWithin } from '../../../base/wait.ts';
import type { Oid } from '../../../git/ref-name.ts';
import type { Basis, CodeSymbol } from '../../../protocol/code.ts';
import type { Definition } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { candidateHashes } from '../words/sketch.ts';

export interface Found {
  file: TreeFile;
  definition: Definition;
}

/** As long as classification may take. */
const PARSE_MS = 400;
/** How much longer a parse that began in time is awaited: it takes milliseconds, but the machine may be busy. */
const GRACE_MS = 3_000;

/**
 * The definitions of a name in this worktree. Files that hold the word and have no structure yet are parsed now, as far as the time
 * allows; the rest is pending. So an empty answer can be proof before stage 2 is complete.
 */
export async function definitionsOf(index: CodeIndex, view: View, name: string, ms?: number) {
  const candidates = candidatesFor(index, view, name);
  const { pending, skipped, partial } = await parseMissing(index, candidates.files, ms);
  const stage: Basis['stage'] = partial > 0 ? 1 : 2; // the lexical scanner reads only in part
  return {
    found: definedHere(index, view, name),
    pending: candidates.pending + pending,
    skipped: candidates.skipped + skipped + partial,
    stage,
  };
}

/** The definitions extracted so far. Content of other worktrees has no path here. */
export function definedHere(index: CodeIndex, view: View, name: string): Found[] {
  const rows = index.names.definers(name);
  const files = rows.flatMap(({ oid, lang }) => view.withBlob(oid).filter((file) => index.languages.of(file) === lang));
  const once = [...new Map(files.map((file) => [file.path, file])).values()];
  const found = once.flatMap((file) => {
    const named = knownDefinitions(index, file).filter((each) => each.name === name);
    return named.map((definition) => ({ file, definition }));
  });
  return found.sort(byPlace);
}

/** What a file is known to define, without parsing it. */
export function knownDefinitions(index: CodeIndex, file: TreeFile): readonly Definition[] {
  const language = index.languages.of(file);
  return (language && index.structures.known(file, language)?.facts?.definitions) ?? [];
}

/** Parses the files without a structure, as far as the time allows. Counts those that still have none, or an incomplete one. */
export async function parseMissing(index: CodeIndex, files: readonly TreeFile[], ms?: number) {
  let end = performance.now() + (ms ?? PARSE_MS);
  let lateMs = ms === undefined ? GRACE_MS : 0;
  const counts = { pending: 0, skipped: 0, partial: 0 };
  for (const file of files) {
    const language = index.languages.of(file);
    if (language === undefined) continue;
    let status = index.coverage.structure(file.oid, language, index.languages.extractor(language));
    const leftMs = end - performance.now();
    if (status === undefined && leftMs > 0) {
      // A parse that takes too long goes on; the next caller finds it done.
      const begunAt = performance.now();
      status = (await settledWithin(systemClock, leftMs + GRACE_MS, index.structures.of(file, language)))?.status;
      // The first one also waits for the parser to start, which is no time that the others had.
      end += Math.min(lateMs, performance.now() - begunAt);
      lateMs = 0;
    }
    if (status === undefined) counts.pending += 1;
    else if (status === 'partial') counts.partial += 1;
    else if (status !== 'ok') counts.skipped += 1;
  }
  return counts;
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

/** All files that hold a name, by path, and a few others whose hashes collide. Files without a sketch may hold it as well. */
export function candidatesFor(index: CodeIndex, view: View, name: string) {
  const hashes = candidateHashes(name);
  const sets = index.words.holding(hashes, view.oids);
  const isHeld = (oid: Oid) => index.coverage.words(oid) === 'ok' && sets.every((set) => set.has(oid));
  const [smallest = view.oids] = sets.sort((a, b) => a.size - b.size);
  const files = [...smallest].filter(isHeld).flatMap((oid) => view.withBlob(oid));
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  const { pending, skipped } = index.unread(view);
  return { files, pending: pending.length, skipped: skipped.length };
}
