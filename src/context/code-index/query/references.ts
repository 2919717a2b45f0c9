import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';
import type { CodeReference, CodeToolArgs, CodeToolResult } from '../../../protocol/code.ts';
import type { HitClass, Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { blobId, formatOf } from '../tree/blob-id.ts';
import { isSameStamp, readRegular } from '../tree/read-file.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';
import { type Hit, hasDollarNames, wordHits } from '../words/hits.ts';
import { type Candidates, candidatesFor } from './candidates.ts';
import type { Classifier, Question } from './classifier.ts';
import { byConfidence, Judge, type Judged, targetId } from './confidence.ts';
import { definitionsOf, type Found } from './definitions.ts';
import { ImportPaths } from './import-paths.ts';
import type { Pager, Whole } from './paging.ts';
import { pathInside } from './paths.ts';
import { SlicesOfTime } from './slices-of-time.ts';

type Args = CodeToolArgs<'get_symbol_references'>;
type Answer = CodeToolResult<'get_symbol_references'>;

const CLASSIFY_MS = 400;
const MAX_BYTES = 8 * 1024 * 1024;
const LIMIT = 200;
/** Words about code, not code: shown only with `include_text`. */
const PROSE = new Set([
  '.md',
  '.markdown',
  '.rst',
  '.txt',
  '.adoc',
  '.json',
  '.lock',
  '.csv',
  '.svg',
  '.po',
  '.log',
  '.map',
]);
const TYPES = {
  definition: 'Definition',
  call: 'Call',
  type: 'Type',
  import: 'Import',
  usage: 'Usage',
  comment: 'Text',
  string: 'Text',
} as const satisfies Record<HitClass['kind'], CodeReference['reference_type']>;

interface FileHits {
  file: TreeFile;
  language: Language | undefined;
  hits: Hit[];
}

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
    total_count: whole.items.length,
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
  const questions = found.flatMap((each) => toQuestion(index, args.name, each));
  const [definitions] = await Promise.all([
    definitionsOf(index, view, { name: args.name, ms: classifyMs }),
    classifier.classify(questions, classifyMs, signal),
  ]);
  const judge = new Judge({ index, imports: new ImportPaths(view), name: args.name, definitions: definitions.found });
  const chosen = chosenDefinition(index, args, definitions.found);
  const all = found.flatMap((each) => toReferences({ classifier, judge, name: args.name, chosen }, each));
  const shown = all.filter(({ reference }) => args.include_text === true || reference.reference_type !== 'Text');
  shown.sort(byRelevance);
  const paths = found.map(({ file }) => file.path);
  const unclassified = questions.filter((question) => classifier.known(question) === undefined).length;
  const whole: WholeReferences = {
    items: shown.map(({ reference }) => reference),
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
  const slices = new SlicesOfTime();
  for (const file of files) {
    const read = readRegular(join(index.tree.place.toplevel, file.path), MAX_BYTES);
    const language = index.languages.of(file);
    const hits = read ? wordHits(read.bytes, { name, isDollarInNames: hasDollarNames(language) }) : [];
    // Changed since the sweep: what is kept of the classes belongs to other bytes.
    const oid = read && !isSameStamp(read.stamp, file.stamp) ? blobId(read.bytes, formatOf(file.oid)) : file.oid;
    if (hits.length > 0) found.push({ file: oid === file.oid ? file : { ...file, oid }, language, hits });
    await slices.pause(signal);
  }
  return found;
}

function toQuestion(index: CodeIndex, name: string, { file, language, hits }: FileHits): Question[] {
  if (language === undefined) return [];
  const source = () => readRegular(join(index.tree.place.toplevel, file.path), MAX_BYTES)?.bytes;
  return [{ oid: file.oid, language, name, source, hits }];
}

function chosenDefinition(
  index: CodeIndex,
  { file_path, line }: Args,
  definitions: readonly Found[],
): Found | undefined {
  if (file_path === undefined) return undefined;
  const path = pathInside(index.tree.place.toplevel, file_path);
  const here = definitions.filter(({ file }) => file.path === path);
  return line === undefined
    ? here[0]
    : here.find(({ definition: { line: from, endLine } }) => from <= line && line <= endLine);
}

interface Ranked {
  reference: CodeReference;
  isChosen: boolean;
}

interface Judging {
  classifier: Classifier;
  judge: Judge;
  name: string;
  chosen: Found | undefined;
}

function toReferences({ classifier, judge, name, chosen }: Judging, { file, language, hits }: FileHits): Ranked[] {
  const classes = language && classifier.known({ oid: file.oid, language, name });
  return hits.map((hit, at) => {
    const found = Array.isArray(classes) ? (classes[at] as HitClass | undefined) : undefined;
    const judged: Judged =
      language && found ? judge.judge({ file, language, line: hit.line, found }) : { confidence: 'lexical' };
    const target = targetId(judged);
    const isProse = language === undefined && PROSE.has(extname(file.path).toLowerCase());
    return {
      isChosen: chosen !== undefined && judged.target === chosen,
      reference: {
        location: {
          file: file.path,
          start_line: hit.line,
          start_column: hit.column,
          end_line: hit.line,
          end_column: hit.column + name.length,
        },
        reference_type: found ? TYPES[found.kind] : isProse ? 'Text' : 'Usage',
        ...(target !== undefined && { target_symbol: target }),
        confidence: judged.confidence,
        line_text: hit.lineText,
      },
    };
  });
}

function byRelevance(one: Ranked, other: Ranked): number {
  if (one.isChosen !== other.isChosen) return one.isChosen ? -1 : 1;
  const confidence = byConfidence(one.reference.confidence, other.reference.confidence);
  if (confidence !== 0) return confidence;
  const [a, b] = [one.reference.location, other.reference.location];
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.start_line - b.start_line || a.start_column - b.start_column;
}

function fingerprint(view: View, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(`${path}\0${view.files.get(path)?.oid ?? ''}\0`);
  return hash.digest('hex');
}
