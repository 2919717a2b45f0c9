import { extname } from 'node:path';

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
export function separatorsFor(source: string): readonly string[] {
  return BY_EXTENSION[extensionOf(source)] ?? PROSE;
}

export function extensionOf(source: string): string {
  const path = URL.canParse(source) && /^https?:/.test(source) ? new URL(source).pathname : source;
  return extname(path).slice(1).toLowerCase();
}
