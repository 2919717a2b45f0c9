import { readFile } from 'node:fs/promises';
import {
  type CodeParser,
  type Definition,
  decodeSource,
  type FileFacts,
  type Language,
} from '../../src/context/lang/contract.ts';
import { unpackFacts } from '../../src/context/lang/pack-facts.ts';
import { bashCode } from './bash-text.ts';
import type { CorpusFile } from './corpus.ts';
import { CTAGS, type Tag, tagsOf } from './ctags.ts';
import { explainExtra, explainMissing } from './explain.ts';
import { SwcReferee } from './swc-referee.ts';

/** One name that only one of the two found, and why, if a rule says so. */
export interface Difference {
  side: 'missing' | 'extra';
  file: string;
  line: number;
  name: string;
  kind: string;
  text: string;
  /** Empty: unexplained, and counted against us. */
  reason: string;
}

export interface Comparison {
  /** The language, or a dialect of it that has no grammar here. */
  label: string;
  files: number;
  /** Not compared, each with the parser's own reason. */
  skipped: string[];
  partial: number;
  tags: number;
  ours: number;
  agreed: number;
  differences: Difference[];
}

const STRUCTURAL = new Set(['class', 'interface', 'method', 'function', 'enum', 'struct', 'type', 'macro']);
/** A declaration over several lines may be given the line of its first word or of its name. */
const LINE_SLACK = 2;
/** ctags gives an Objective-C method the line where its selector ends. */
const SELECTOR_LINES = 12;

export async function compareLanguage(
  parser: CodeParser,
  group: { label: string; language: Language; files: readonly CorpusFile[] },
): Promise<Comparison> {
  const { label, language, files } = group;
  const comparison: Comparison = {
    label,
    files: files.length,
    skipped: [],
    partial: 0,
    tags: 0,
    ours: 0,
    agreed: 0,
    differences: [],
  };
  const tags = Map.groupBy(await tagsOf(language, files), ({ path }) => path);
  for (const file of files) await compareFile(parser, { file, tags: tags.get(file.path) ?? [], comparison });
  return comparison;
}

interface FileTask {
  file: CorpusFile;
  tags: Tag[];
  comparison: Comparison;
}

async function compareFile(parser: CodeParser, { file, tags, comparison }: FileTask): Promise<void> {
  const source = await readFile(file.path);
  const answer = await parser.extract(source, file.language);
  if ('skipped' in answer) {
    comparison.skipped.push(`${file.shown}: ${answer.skipped}`);
    return;
  }
  const facts = unpackFacts(answer.data) as FileFacts;
  if (facts.partial) comparison.partial++;
  const lines = decodeSource(source).split('\n');
  const wanted = tags.filter((tag) => CTAGS[file.language]?.kinds.includes(tag.kind));
  const structural = facts.definitions.filter(({ kind }) => STRUCTURAL.has(kind));
  comparison.tags += wanted.length;
  comparison.ours += structural.length;
  const slack = file.language === 'objc' ? SELECTOR_LINES : LINE_SLACK;
  const missing = unmatched(wanted, facts.definitions, slack);
  const extra = unmatched(structural, tags, slack);
  comparison.agreed += wanted.length - missing.length;
  const isScript = ['typescript', 'tsx', 'javascript'].includes(file.language);
  const referee =
    isScript && missing.length + extra.length > 0 ? SwcReferee.of(lines.join('\n'), file.language) : undefined;
  const isCode = file.language === 'bash' && missing.length > 0 ? bashCode(lines.join('\n')) : undefined;
  const around = { lines, language: file.language, referee, isCode };
  for (const tag of missing) {
    comparison.differences.push({ ...show(file, tag, lines), side: 'missing', reason: explainMissing(tag, around) });
  }
  for (const definition of extra) {
    comparison.differences.push({
      ...show(file, definition, lines),
      side: 'extra',
      reason: explainExtra(definition, around),
    });
  }
}

function show(file: CorpusFile, { name, line, kind }: Tag | Definition, lines: string[]) {
  return { file: file.shown, line, name, kind, text: (lines[line - 1] ?? '').trim().slice(0, 160) };
}

/** Names are compared as words: `~Cart`, `initWithName:with:` and `operator ==` are written in more than one way. */
export function plainName(name: string): string {
  const word = name
    .replace(/^operator\s*(?=\W)/, '')
    .replace(/^['"]|['"]$/g, '')
    .replace(/:.*$/, '')
    .replace(/\s+/g, '');
  return word.split(/::|\./).at(-1)?.replace(/^[~#]/, '') ?? word;
}

type Named = { name: string; line: number };

function unmatched<A extends Named>(wanted: readonly A[], found: readonly Named[], slack: number): A[] {
  const byName = Map.groupBy(found, ({ name }) => plainName(name));
  return wanted.filter(({ name, line }) => {
    const same = byName.get(plainName(name)) ?? [];
    return !same.some((other) => Math.abs(other.line - line) <= slack);
  });
}
