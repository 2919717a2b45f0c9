import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { termsOf } from '../../src/runtime/rag/text/words.ts';

const MODULES = join(import.meta.dirname, '../../node_modules');

/** A question and the text that answers it. */
export interface HeadingQuestion {
  ask: string;
  source: string;
  /** How the text under the heading begins. */
  text: string;
}

export interface Fold {
  documents: { source: string; text: string }[];
  questions: HeadingQuestion[];
}

interface DocumentedFile {
  source: string;
  lines: string[];
  headings: Heading[];
}

interface Heading {
  level: number;
  title: string;
  line: number;
}

/** A third of the headings is asked for and is not in the text; the others stand where they are. */
const FOLDS = 3;
/** Sections that say less than this answer nothing. */
const SHORTEST = 200;
/** A chunk is the answer if it holds the first characters of the section. */
const KNOWN_BY = 100;
const FEWEST_WORDS = 2;

/** Questions from the headings of a package's documentation: what is under a heading is the answer to its words. */
export function foldsOf(folders: readonly string[]): Fold[] {
  const files = folders.flatMap(filesOf);
  const uses = new Map<string, number>();
  for (const { headings } of files)
    for (const { title } of headings) uses.set(keyOf(title), (uses.get(keyOf(title)) ?? 0) + 1);
  const isAsked = ({ level, title }: Heading) =>
    level > 1 && uses.get(keyOf(title)) === 1 && new Set(termsOf(title)).size >= FEWEST_WORDS;

  return Array.from({ length: FOLDS }, (_, fold) => {
    let count = 0;
    const isLeftOut = (heading: Heading) => isAsked(heading) && count++ % FOLDS === fold;
    const cut = files.map((file) => withoutHeadings(file, isLeftOut));
    return {
      documents: cut.map(({ source, text }) => ({ source, text })),
      questions: cut.flatMap(({ questions }) => questions),
    };
  });
}

function filesOf(folder: string): DocumentedFile[] {
  const cwd = join(MODULES, folder);
  const paths = globSync('**/*.{md,mdx}', { cwd }).sort();
  if (paths.length === 0) throw new Error(`node_modules/${folder} has no documentation`);
  return paths.map((path) => {
    const lines = readFileSync(join(cwd, path), 'utf8').split('\n');
    return { source: `/${folder}/${path}`, lines, headings: headingsOf(lines) };
  });
}

/** A section ends where the next begins, also a section below it. */
function withoutHeadings({ source, lines, headings }: DocumentedFile, isLeftOut: (heading: Heading) => boolean) {
  const byLine = new Map(headings.map((heading) => [heading.line, heading]));
  const sections: { title: string; isAsked: boolean; from: number }[] = [];
  const left: string[] = [];
  let length = 0;
  for (const [n, line] of lines.entries()) {
    const heading = byLine.get(n);
    const isAsked = heading !== undefined && isLeftOut(heading);
    if (heading) sections.push({ title: heading.title, isAsked, from: length });
    if (isAsked) continue;
    left.push(line);
    length += line.length + 1;
  }
  const text = left.join('\n');
  const questions = sections.flatMap(({ title, isAsked, from }, at): HeadingQuestion[] => {
    const end = sections[at + 1]?.from ?? text.length;
    const start = from + text.slice(from, end).search(/\S|$/);
    return isAsked && end - start >= SHORTEST
      ? [{ ask: title, source, text: text.slice(start, start + KNOWN_BY) }]
      : [];
  });
  return { source, text, questions };
}

const keyOf = (title: string) => [...new Set(termsOf(title))].sort().join(' ');

function headingsOf(lines: readonly string[]): Heading[] {
  const headings: Heading[] = [];
  let isCode = false;
  for (const [line, text] of lines.entries()) {
    if (/^\s*(```|~~~)/.test(text)) isCode = !isCode;
    const [, marks, title] = /^(#{1,6})\s+(.+?)\s*#*$/.exec(text) ?? [];
    if (isCode || !marks || !title) continue;
    headings.push({ level: marks.length, title: plain(title), line });
  }
  return headings;
}

/** Without markup and arguments: `client.stream(options, factory)` is asked for as `client.stream`. */
function plain(title: string): string {
  return title
    .replace(/<[^>]*>/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\([^)]*\)/g, ' ')
    .replace(/[`*_]/g, (mark) => (mark === '_' ? mark : ''))
    .trim();
}
