import { extname } from 'node:path';

export interface ChunkSize {
  /** In characters. */
  size: number;
  /** How many characters of a chunk the next one repeats. */
  overlap: number;
}

/**
 * Cuts a document into chunks of at most `size` characters, at the strongest separator of its language. The chunks without
 * their overlaps are the document.
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

/** File extensions, and the line starts at which such a file is cut, strongest first. */
const LANGUAGES: readonly (readonly [extensions: string, lineStarts: string])[] = [
  ['md mdx markdown html htm docx', '# |## |### |#### |##### |###### |```|---'],
  [
    'ts tsx mts cts js jsx mjs cjs vue svelte',
    'export |class |interface |type |function |async function |const |let |describe(|test(|  async |  if |  for ',
  ],
  ['py pyi', 'class |def |async def |    def |    async def |    if |    for '],
  ['rs', 'pub mod |mod |impl |pub trait |trait |pub struct |struct |pub enum |enum |pub fn |fn |    pub fn |    fn '],
  ['go', 'func |type |var |const |package '],
  [
    'java kt kts scala cs swift',
    'public class |class |interface |enum |    public |    protected |    private |    static ',
  ],
  ['c h cc cpp cxx hpp hh m mm', 'namespace |class |struct |enum |static |void |int |#define |#if'],
  ['rb', 'module |class |def |  def |    def '],
  ['php', 'namespace |class |function |    public function |    private function |    protected function '],
  ['sh bash zsh', 'function |if |for |while |case '],
  ['sql', 'CREATE |ALTER |INSERT |SELECT |UPDATE |DELETE |create |select '],
  ['rst', '===|---|***|.. '],
  ['tex', '\\chapter{|\\section{|\\subsection{|\\subsubsection{|\\begin{'],
];

const BY_EXTENSION = new Map(
  LANGUAGES.flatMap(([extensions, lineStarts]) => {
    const separators = [...lineStarts.split('|').map((start) => `\n${start}`), ...PROSE];
    return extensions.split(' ').map((extension) => [extension, separators] as const);
  }),
);

function separatorsFor(source: string): readonly string[] {
  return BY_EXTENSION.get(extensionOf(source)) ?? PROSE;
}

export function extensionOf(source: string): string {
  const path = URL.canParse(source) && /^https?:/.test(source) ? new URL(source).pathname : source;
  return extname(path).slice(1).toLowerCase();
}
