import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { LineIndex } from '../../src/base/line-index.ts';
import {
  type CodeParser,
  decodeSource,
  type HitClass,
  type Language,
  type Position,
} from '../../src/context/lang/contract.ts';
import { CODE, lexicalMask } from '../../src/context/lang/lexical-mask.ts';
import { bashCode } from './bash-text.ts';
import { type Corpus, type CorpusFile, tool } from './corpus.ts';
import { SwcReferee } from './swc-referee.ts';
import { TEXT_RULES } from './text-rules.ts';

export interface ReferenceCheck {
  corpus: string;
  language: Language;
  words: number;
  hits: number;
  /** Files the parser skips or the second opinion cannot read. */
  unread: number;
  /** Hits that both call comment or string, and that both call code. */
  text: number;
  code: number;
  /** Code by the marks, but called comment or string by `classify`: a reference would be lost. */
  lost: string[];
  /** The other way round: shown though it is text. */
  overstated: string[];
}

const hitSchema = z.object({
  type: z.literal('match'),
  data: z.object({
    path: z.object({ text: z.string() }),
    line_number: z.number(),
    lines: z.object({ text: z.string() }),
    submatches: z.array(z.object({ start: z.number() })),
  }),
});

/** C-127: what `rg -w` finds outside comments and strings is code to `classify`, to the last hit. */
export async function checkReferences(parser: CodeParser, corpus: Corpus, language: Language): Promise<ReferenceCheck> {
  const files = corpus.files.filter((file) => file.language === language);
  const words = await wordsOf(parser, files);
  const check: ReferenceCheck = {
    corpus: corpus.name,
    language,
    words: words.length,
    hits: 0,
    unread: 0,
    text: 0,
    code: 0,
    lost: [],
    overstated: [],
  };
  const hits = await search(words, files);
  for (const file of files) await checkFile(parser, { file, hits: hits.get(file.path) ?? [], check });
  return check;
}

/** Where code holds one of the words, as `file:line:column`: by `rg -w` and the second opinion, without our grammars. */
export async function codeHits(files: readonly CorpusFile[], words: readonly string[]): Promise<string[]> {
  const hits = await search(words, files);
  const places: string[] = [];
  for (const { path, shown, language } of files) {
    const text = decodeSource(await readFile(path));
    const isCode = secondOpinion(text, language);
    const lines = new LineIndex(text);
    for (const hit of hits.get(path) ?? [])
      if (isCode?.(lines.index(hit)) === true) places.push(`${shown}:${hit.line}:${hit.column}`);
  }
  return places;
}

/** Every name the corpus defines, as far as it is a word. */
export async function wordsOf(parser: CodeParser, files: readonly CorpusFile[]): Promise<string[]> {
  const words = new Set<string>();
  for (const file of files) {
    const answer = await parser.extract(await readFile(file.path), file.language);
    if (!('skipped' in answer)) for (const name of JSON.parse(answer.summary.names)) words.add(name);
  }
  return [...words].filter((word) => /^\w{2,}$/.test(word)).sort();
}

async function search(words: readonly string[], files: readonly CorpusFile[]): Promise<Map<string, Position[]>> {
  const found = new Map<string, Position[]>();
  if (words.length === 0) return found;
  for (let at = 0; at < files.length; at += 500) {
    const paths = files.slice(at, at + 500).map(({ path }) => path);
    const printed = await tool('rg', ['--json', '-w', '--no-ignore', '--hidden', '-f', '-', '--', ...paths], {
      cwd: '/',
      input: words.join('\n'),
    });
    for (const line of printed.split('\n').filter(Boolean)) addHits(found, JSON.parse(line));
  }
  return found;
}

function addHits(found: Map<string, Position[]>, printed: unknown): void {
  const hit = hitSchema.safeParse(printed);
  if (!hit.success) return; // begin, end, summary, or a line that is no UTF-8
  const { path, line_number: line, lines, submatches } = hit.data.data;
  const bytes = Buffer.from(lines.text);
  const positions = found.get(path.text) ?? [];
  found.set(path.text, positions);
  for (const { start } of submatches) positions.push({ line, column: bytes.subarray(0, start).toString().length });
}

async function checkFile(parser: CodeParser, task: { file: CorpusFile; hits: Position[]; check: ReferenceCheck }) {
  const { file, hits, check } = task;
  const source = await readFile(file.path);
  const classes = await parser.classify({ source, language: file.language, hits });
  const text = decodeSource(source);
  const second = secondOpinion(text, file.language);
  if ('skipped' in classes || second === undefined) {
    check.unread++;
    return;
  }
  const lines = new LineIndex(text);
  hits.forEach((hit, at) => {
    const isCode = second(lines.index(hit));
    tally(check, {
      isCode,
      found: classes[at] ?? { kind: 'usage' },
      shown: `${file.shown}:${hit.line}:${hit.column} ${text.slice(lines.index(hit)).split('\n', 1)[0]?.slice(0, 80)}`,
    });
  });
}

/** Those of whose comments and strings there is a second opinion. */
export function isCheckable(language: Language): boolean {
  return TEXT_RULES[language] !== undefined || ['typescript', 'tsx', 'bash'].includes(language);
}

/**
 * Says whether an index is code, without our grammars: by the marks of comments and strings, or by swc's identifiers.
 * `undefined` as an answer: swc says nothing about this place (a keyword, a type it drops), so nothing is proved.
 */
function secondOpinion(text: string, language: Language): ((index: number) => boolean | undefined) | undefined {
  if (language === 'bash') return bashCode(text);
  const rules = TEXT_RULES[language];
  if (rules === undefined) return SwcReferee.of(text, language)?.identifiers(text);
  const mask = lexicalMask(text, rules);
  return (index) => mask[index] === CODE;
}

function tally(check: ReferenceCheck, one: { isCode: boolean | undefined; found: HitClass; shown: string }): void {
  const isText = one.found.kind === 'comment' || one.found.kind === 'string';
  if (one.isCode === undefined) return;
  check.hits++;
  if (one.isCode && isText) check.lost.push(one.shown);
  else if (!one.isCode && !isText) check.overstated.push(one.shown);
  else if (isText) check.text++;
  else check.code++;
}
