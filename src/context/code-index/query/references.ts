import type { CodeReference, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import { isTooLarge } from '../../lang/limits.ts';
import type { CodeIndex } from '../code-index.ts';
import { ImportPaths } from '../modules/import-paths.ts';
import { blobId, formatOf } from '../tree/blob-id.ts';
import { isSameStamp, Scratch } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { hasDollarNames, wordHits } from '../words/hits.ts';
import type { Classifier } from './classifier.ts';
import { Judge } from './confidence.ts';
import { candidatesFor, definitionsOf, type Found } from './definitions.ts';
import type { Question } from './kept-classes.ts';
import type { Pager, Whole } from './paging.ts';
import { pathInside } from './paths.ts';
import { type FileHits, referenceList } from './reference-list.ts';
import { SlicesOfTime } from './slices-of-time.ts';
import { nameIn, notOwned, ownedBy, type WrittenName } from './written-name.ts';

type Args = CodeToolArgs<'get_symbol_references'>;

const CLASSIFY_MS = 400;
/** How long the first answer of the parser is awaited besides. */
const LATE_MS = 3_000;
const LIMIT = 200;

interface WholeReferences extends Whole<CodeReference> {
  skipped: number;
  note: string | undefined;
}

export interface ReferenceTools {
  index: CodeIndex;
  classifier: Classifier;
  pager: Pager;
}

interface Waits {
  classifyMs?: number;
  signal?: AbortSignal;
}

export async function references(
  tools: ReferenceTools,
  args: Args,
  waits: Waits = {},
): Promise<CodeToolResult<'get_symbol_references'>> {
  const { index, pager } = tools;
  const view = await index.view();
  const { name, file_path, line, include_text, cursor } = args;
  const question = [name, file_path, line, include_text === true];
  const make = () => wholeReferences(tools, view, args, waits);
  const place = await pager.place({ question, cursor, make }, view);
  const { count, pending, skipped, note } = place.whole;
  const { items, nextCursor } = pager.page(place, args.limit ?? LIMIT);
  return {
    references: items,
    total_count: count,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    ...(note !== undefined && { note }),
    basis: await index.basis({ pending, skipped }, view),
  };
}

async function wholeReferences(
  { index, classifier }: ReferenceTools,
  view: View,
  args: Args,
  { classifyMs, signal }: Waits,
): Promise<WholeReferences> {
  const written = await nameIn(index, view, args.name);
  const { name } = written;
  const candidates = candidatesFor(index, view, name);
  const found = await readHits(index, name, candidates.files, signal);
  // Small files first: more of them are classified in time, and a large one makes the parser's memory grow for good.
  const bySize = found.toSorted((a, b) => a.file.stamp.size - b.file.stamp.size);
  const questions = bySize.flatMap((each) => toQuestion(index, name, each));
  const patience = classifyMs === undefined ? { ms: CLASSIFY_MS, lateMs: LATE_MS } : { ms: classifyMs };
  const [{ found: definitions }] = await Promise.all([
    definitionsOf(index, view, name, classifyMs),
    classifier.classify(questions, { ...patience, signal }),
  ]);
  const list = referenceList(found, {
    root: index.tree.checkout.toplevel,
    name,
    definitions,
    chosen: chosenDefinitions(index, args, { written, definitions }),
    hasText: args.include_text === true,
    judge: new Judge(index, new ImportPaths(index, view), name, definitions),
    classes: (question) => classifier.known(question),
  });
  const unclassified = questions.filter((question) => classifier.known(question) === undefined).length;
  const isUnowned = written.owners.length > 0 && list.count > 0 && ownedBy(definitions, written.owners).length === 0;
  return {
    ...list,
    paths: found.map(({ file }) => file.path),
    pending: candidates.pending + unclassified,
    skipped: candidates.skipped,
    note: [unclassifiedNote(unclassified), isUnowned && notOwned(written)].filter(Boolean).join(' ') || undefined,
  };
}

/** Why the same question may soon be answered better. */
function unclassifiedNote(files: number): string | undefined {
  if (files === 0) return undefined;
  return `${files} files are not classified yet, their places are lexical: ask again, or with \`require: complete\`.`;
}

/** Reads the candidates for the places of the name: a sketch only says where to look. */
export async function readHits(
  index: CodeIndex,
  name: string,
  files: readonly TreeFile[],
  signal: AbortSignal | undefined,
): Promise<FileHits[]> {
  const found: FileHits[] = [];
  const [slices, scratch] = [new SlicesOfTime(), new Scratch()];
  for (const file of files) {
    const read = index.tree.read(file.path, scratch.room);
    const language = index.languages.of(file);
    const hits = read && wordHits(read.bytes, { name, isDollarInNames: hasDollarNames(language) });
    // If the file changed since the sweep, the classes that are kept belong to other bytes.
    const oid = read && !isSameStamp(read.stamp, file.stamp) ? blobId(read.bytes, formatOf(file.oid)) : file.oid;
    if (hits && hits.count > 0) found.push({ file: oid === file.oid ? file : { ...file, oid }, language, hits });
    await slices.pause(signal);
  }
  return found;
}

function toQuestion(index: CodeIndex, name: string, { file, language, hits }: FileHits): Question[] {
  if (language === undefined || isTooLarge(file.stamp.size)) return [];
  const source: Question['source'] = (room) => index.tree.read(file.path, room)?.bytes;
  return [{ oid: file.oid, language, name, source, hits }];
}

/** Those that a place or an owner tells from others of the same name. */
function chosenDefinitions(
  index: CodeIndex,
  { file_path, line }: Args,
  { written, definitions }: { written: WrittenName; definitions: readonly Found[] },
): ReadonlySet<Found> {
  const owned = ownedBy(definitions, written.owners);
  if (file_path === undefined) return new Set(written.owners.length === 0 ? [] : owned);
  const path = pathInside(index.tree.checkout.toplevel, file_path);
  const isHere = ({ file, definition }: Found) =>
    file.path === path && (line === undefined || (definition.line <= line && line <= definition.endLine));
  return new Set(definitions.filter(isHere));
}
