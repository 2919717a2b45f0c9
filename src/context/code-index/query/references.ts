import type { CodeReference, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import { isTooLarge } from '../../lang/limits.ts';
import type { CodeIndex } from '../code-index.ts';
import { blobId, formatOf } from '../tree/blob-id.ts';
import { isSameStamp, Scratch } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { hasDollarNames, wordHits } from '../words/hits.ts';
import type { Classifier, Question } from './classifier.ts';
import { Judge } from './confidence.ts';
import { candidatesFor, definitionsOf, type Found } from './definitions.ts';
import { ImportPaths } from './import-paths.ts';
import type { Pager, Whole } from './paging.ts';
import { pathInside } from './paths.ts';
import { type FileHits, referenceList } from './reference-list.ts';
import { SlicesOfTime } from './slices-of-time.ts';

type Args = CodeToolArgs<'get_symbol_references'>;

const CLASSIFY_MS = 400;
const LIMIT = 200;

interface WholeReferences extends Whole<CodeReference> {
  pending: number;
  skipped: number;
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
  const place =
    args.cursor === undefined
      ? pager.keep(await wholeReferences(tools, view, args, waits), view)
      : pager.recall<WholeReferences>(args.cursor, view);
  const { count, pending, skipped } = place.whole;
  const { items, nextCursor } = pager.page(place, args.limit ?? LIMIT);
  return {
    references: items,
    total_count: count,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    basis: await index.basis({ pending, skipped }, view),
  };
}

async function wholeReferences(
  { index, classifier }: ReferenceTools,
  view: View,
  args: Args,
  { classifyMs = CLASSIFY_MS, signal }: Waits,
): Promise<WholeReferences> {
  const { name } = args;
  const candidates = candidatesFor(index, view, name);
  const found = await readHits(index, name, candidates.files, signal);
  // Small files first: more of them are classified in time, and a large one makes the parser's memory grow for good.
  const bySize = found.toSorted((a, b) => a.file.stamp.size - b.file.stamp.size);
  const questions = bySize.flatMap((each) => toQuestion(index, name, each));
  const [{ found: definitions }] = await Promise.all([
    definitionsOf(index, view, name, classifyMs),
    classifier.classify(questions, classifyMs, signal),
  ]);
  const list = referenceList(found, {
    root: index.tree.checkout.toplevel,
    name,
    definitions,
    chosen: chosenDefinition(index, args, definitions),
    hasText: args.include_text === true,
    judge: new Judge(index, new ImportPaths(view), name, definitions),
    classes: (question) => classifier.known(question),
  });
  const unclassified = questions.filter((question) => classifier.known(question) === undefined).length;
  return {
    ...list,
    paths: found.map(({ file }) => file.path),
    pending: candidates.pending + unclassified,
    skipped: candidates.skipped,
  };
}

/** Reads the candidates for the places of the name: a sketch only says where to look. */
async function readHits(
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

function chosenDefinition(index: CodeIndex, { file_path, line }: Args, found: readonly Found[]): Found | undefined {
  if (file_path === undefined) return undefined;
  const path = pathInside(index.tree.checkout.toplevel, file_path);
  return found.find(
    ({ file, definition }) =>
      file.path === path && (line === undefined || (definition.line <= line && line <= definition.endLine)),
  );
}
