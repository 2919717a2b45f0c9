import { join } from 'node:path';
import type { CodeReference, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import { isTooLarge } from '../../lang/limits.ts';
import type { CodeIndex } from '../code-index.ts';
import { blobId, formatOf } from '../tree/blob-id.ts';
import { isSameStamp, readRegular, Scratch } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import { hasDollarNames, wordHits } from '../words/hits.ts';
import type { Classifier, Question } from './classifier.ts';
import { Judge } from './confidence.ts';
import { type Candidates, candidatesFor, definitionsOf, type Found } from './definitions.ts';
import { ImportPaths } from './import-paths.ts';
import { fingerprint, type Pager, type Whole } from './paging.ts';
import { pathInside } from './paths.ts';
import { type FileHits, ReferenceList } from './reference-list.ts';
import { SlicesOfTime } from './slices-of-time.ts';

type Args = CodeToolArgs<'get_symbol_references'>;
type Answer = CodeToolResult<'get_symbol_references'>;

const CLASSIFY_MS = 400;
const MAX_BYTES = 8 * 1024 * 1024;
const LIMIT = 200;

interface WholeReferences extends Whole<CodeReference> {
  paths: readonly string[];
  pending: number;
  skipped: number;
  unclassified: number;
}

export interface ReferenceTools {
  index: CodeIndex;
  classifier: Classifier;
  pager: Pager;
}

export async function references(
  tools: ReferenceTools,
  args: Args,
  options: { classifyMs?: number; signal?: AbortSignal } = {},
): Promise<Answer> {
  const { index, pager } = tools;
  const view = await index.view();
  const { id, at, whole } =
    args.cursor === undefined
      ? await begin(tools, { view, args, ...options })
      : pager.recall<CodeReference>(args.cursor, (kept) => fingerprint(view, (kept as WholeReferences).paths));
  const { pending, skipped, unclassified } = whole as WholeReferences;
  const { items, nextCursor } = pager.page({ id, at, whole }, args.limit ?? LIMIT);
  return {
    references: items,
    total_count: whole.count,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    basis: await index.basis(
      {
        stage: unclassified > 0 || pending > 0 ? 1 : 2,
        complete: pending === 0 && skipped === 0 && unclassified === 0,
        pending: pending + unclassified,
        skipped,
      },
      view,
    ),
  };
}

interface Asked {
  view: View;
  args: Args;
  classifyMs?: number;
  signal?: AbortSignal;
}

async function begin(
  { index, classifier, pager }: ReferenceTools,
  { view, args, classifyMs = CLASSIFY_MS, signal }: Asked,
) {
  const candidates = candidatesFor(index, view, args.name);
  const found = await readHits({ index, name: args.name, signal }, candidates);
  // Small ones first: more of them are told in time, and a large one makes the parser's memory grow for good.
  const bySize = found.toSorted((a, b) => a.file.stamp.size - b.file.stamp.size);
  const questions = bySize.flatMap((each) => toQuestion(index, args.name, each));
  const [definitions] = await Promise.all([
    definitionsOf(index, view, { name: args.name, ms: classifyMs }),
    classifier.classify(questions, classifyMs, signal),
  ]);
  const judge = new Judge({ index, imports: new ImportPaths(view), name: args.name, definitions: definitions.found });
  const list = new ReferenceList(found, {
    root: index.tree.checkout.toplevel,
    name: args.name,
    definitions: definitions.found,
    chosen: chosenDefinition(index, args, definitions.found),
    hasText: args.include_text === true,
    judge,
    classes: (question) => classifier.known(question),
  });
  const paths = found.map(({ file }) => file.path);
  const unclassified = questions.filter((question) => classifier.known(question) === undefined).length;
  const whole: WholeReferences = {
    count: list.count,
    items: (from, to) => list.items(from, to),
    fingerprint: fingerprint(view, paths),
    paths,
    pending: candidates.pending,
    skipped: candidates.skipped,
    unclassified,
  };
  return { id: pager.keep(whole), at: 0, whole };
}

/** Reading is what finds: a sketch only says where to look. */
async function readHits(
  { index, name, signal }: { index: CodeIndex; name: string; signal: AbortSignal | undefined },
  { files }: Candidates,
): Promise<FileHits[]> {
  const found: FileHits[] = [];
  const [slices, scratch] = [new SlicesOfTime(), new Scratch()];
  for (const file of files) {
    const read = readRegular(join(index.tree.checkout.toplevel, file.path), MAX_BYTES, scratch.room);
    const language = index.languages.of(file);
    const hits = read && wordHits(read.bytes, { name, isDollarInNames: hasDollarNames(language) });
    // Changed since the sweep: what is kept of the classes belongs to other bytes.
    const oid = read && !isSameStamp(read.stamp, file.stamp) ? blobId(read.bytes, formatOf(file.oid)) : file.oid;
    if (hits && hits.count > 0) found.push({ file: oid === file.oid ? file : { ...file, oid }, language, hits });
    await slices.pause(signal);
  }
  return found;
}

function toQuestion(index: CodeIndex, name: string, { file, language, hits }: FileHits): Question[] {
  if (language === undefined || isTooLarge(file.stamp.size)) return [];
  const source: Question['source'] = (room) =>
    readRegular(join(index.tree.checkout.toplevel, file.path), MAX_BYTES, room)?.bytes;
  return [{ oid: file.oid, language, name, source, hits }];
}

function chosenDefinition(
  index: CodeIndex,
  { file_path, line }: Args,
  definitions: readonly Found[],
): Found | undefined {
  if (file_path === undefined) return undefined;
  const path = pathInside(index.tree.checkout.toplevel, file_path);
  const here = definitions.filter(({ file }) => file.path === path);
  return line === undefined
    ? here[0]
    : here.find(({ definition: { line: from, endLine } }) => from <= line && line <= endLine);
}
