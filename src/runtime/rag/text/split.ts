import { extname } from 'node:path';

export interface ChunkSize {
  /** In characters. */
  size: number;
  /** How much of the end of a chunk the next one begins with. */
  overlap: number;
}

/**
 * Cuts a document into chunks of at most `size` characters, at the strongest seam of its language that lies in reach:
 * headings, definitions, paragraphs, lines, words. Chunks concatenated without their overlaps are the document.
 */
export function splitDocument(text: string, source: string, { size, overlap }: ChunkSize): string[] {
  const pieces = cut(text, separatorsFor(source), size);
  return merge(pieces, { size, overlap }).filter((chunk) => chunk.trim() !== '');
}

function cut(text: string, separators: readonly string[], size: number): string[] {
  if (text.length <= size) return [text];
  const [separator, ...weaker] = separators;
  if (separator === undefined) return slices(text, size);
  return splitBefore(text, separator).flatMap((part) => cut(part, weaker, size));
}

/** Each piece begins with the separator that made it, so that nothing is lost. */
function splitBefore(text: string, separator: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let at = text.indexOf(separator, 1); at !== -1; at = text.indexOf(separator, at + separator.length)) {
    pieces.push(text.slice(start, at));
    start = at;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function slices(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + size);
    if (end < text.length && end - start > 1 && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function merge(pieces: readonly string[], { size, overlap }: ChunkSize): string[] {
  const chunks: string[] = [];
  let held: string[] = [];
  let length = 0;
  let fresh = 0;
  for (const piece of pieces) {
    if (length + piece.length > size && fresh > 0) {
      chunks.push(held.join(''));
      held = tail(held, Math.min(overlap, size - piece.length));
      length = held.reduce((sum, each) => sum + each.length, 0);
      fresh = 0;
    }
    held.push(piece);
    length += piece.length;
    fresh += 1;
  }
  if (fresh > 0) chunks.push(held.join(''));
  return chunks;
}

/** As many whole pieces from the end as fit. */
function tail(pieces: readonly string[], room: number): string[] {
  let left = room;
  let first = pieces.length;
  while (first > 0) {
    const { length } = pieces[first - 1] ?? '';
    if (length > left) break;
    left -= length;
    first -= 1;
  }
  return pieces.slice(first);
}

const PROSE = ['\n\n', '\n', '. ', ' '];
const lines = (...starts: string[]) => [...starts.map((start) => `\n${start}`), ...PROSE];

const MARKDOWN = lines('# ', '## ', '### ', '#### ', '##### ', '###### ', '```', '---');
const SCRIPT = lines(
  'export ',
  'class ',
  'interface ',
  'type ',
  'function ',
  'async function ',
  'const ',
  'let ',
  'describe(',
  'test(',
  '  async ',
  '  if ',
  '  for ',
);
const PYTHON = lines('class ', 'def ', 'async def ', '    def ', '    async def ', '    if ', '    for ');
const RUST = lines(
  'pub mod ',
  'mod ',
  'impl ',
  'pub trait ',
  'trait ',
  'pub struct ',
  'struct ',
  'pub enum ',
  'enum ',
  'pub fn ',
  'fn ',
  '    pub fn ',
  '    fn ',
);
const GO = lines('func ', 'type ', 'var ', 'const ', 'package ');
const JAVA = lines(
  'public class ',
  'class ',
  'interface ',
  'enum ',
  '    public ',
  '    protected ',
  '    private ',
  '    static ',
);
const C = lines('namespace ', 'class ', 'struct ', 'enum ', 'static ', 'void ', 'int ', '#define ', '#if');
const RUBY = lines('module ', 'class ', 'def ', '  def ', '    def ');
const PHP = lines(
  'namespace ',
  'class ',
  'function ',
  '    public function ',
  '    private function ',
  '    protected function ',
);
const SHELL = lines('function ', 'if ', 'for ', 'while ', 'case ');
const SQL = lines('CREATE ', 'ALTER ', 'INSERT ', 'SELECT ', 'UPDATE ', 'DELETE ', 'create ', 'select ');
const RST = lines('===', '---', '***', '.. ');
const LATEX = lines('\\chapter{', '\\section{', '\\subsection{', '\\subsubsection{', '\\begin{');

const BY_EXTENSION: Readonly<Record<string, readonly string[]>> = Object.freeze({
  ...each(['md', 'mdx', 'markdown', 'html', 'htm', 'docx'], MARKDOWN),
  ...each(['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs', 'vue', 'svelte'], SCRIPT),
  ...each(['py', 'pyi'], PYTHON),
  ...each(['rs'], RUST),
  ...each(['go'], GO),
  ...each(['java', 'kt', 'kts', 'scala', 'cs', 'swift'], JAVA),
  ...each(['c', 'h', 'cc', 'cpp', 'cxx', 'hpp', 'hh', 'm', 'mm'], C),
  ...each(['rb'], RUBY),
  ...each(['php'], PHP),
  ...each(['sh', 'bash', 'zsh'], SHELL),
  ...each(['sql'], SQL),
  ...each(['rst'], RST),
  ...each(['tex'], LATEX),
});

function each(extensions: readonly string[], separators: readonly string[]) {
  return Object.fromEntries(extensions.map((extension) => [extension, separators]));
}

/** The seams of a document, strongest first, by the extension of its path or URL. */
function separatorsFor(source: string): readonly string[] {
  return BY_EXTENSION[extensionOf(source)] ?? PROSE;
}

export function extensionOf(source: string): string {
  const path = URL.canParse(source) && /^https?:/.test(source) ? new URL(source).pathname : source;
  return extname(path).slice(1).toLowerCase();
}
