import { fileURLToPath } from 'node:url';

const WASM = {
  typescript: 'tree-sitter-typescript/tree-sitter-typescript.wasm',
  tsx: 'tree-sitter-typescript/tree-sitter-tsx.wasm',
  javascript: 'tree-sitter-javascript/tree-sitter-javascript.wasm',
  python: 'tree-sitter-python/tree-sitter-python.wasm',
  go: 'tree-sitter-go/tree-sitter-go.wasm',
  rust: 'tree-sitter-rust/tree-sitter-rust.wasm',
  java: 'tree-sitter-java/tree-sitter-java.wasm',
  kotlin: '@tree-sitter-grammars/tree-sitter-kotlin/tree-sitter-kotlin.wasm',
  scala: 'tree-sitter-scala/tree-sitter-scala.wasm',
  c: 'tree-sitter-c/tree-sitter-c.wasm',
  cpp: 'tree-sitter-cpp/tree-sitter-cpp.wasm',
  objc: 'tree-sitter-objc/tree-sitter-objc.wasm',
  csharp: 'tree-sitter-c-sharp/tree-sitter-c_sharp.wasm',
  php: 'tree-sitter-php/tree-sitter-php.wasm',
  ruby: 'tree-sitter-ruby/tree-sitter-ruby.wasm',
  bash: 'tree-sitter-bash/tree-sitter-bash.wasm',
};
export type ParsedLanguage = keyof typeof WASM;

const ENGINE = 'web-tree-sitter/web-tree-sitter.wasm';

/** The build copies the files above into the package and replaces this folder. */
const PACKAGES = new URL('../../../node_modules/', import.meta.url);

export function engineFile(): string {
  return fileURLToPath(new URL(ENGINE, PACKAGES));
}

export function grammarFile(language: ParsedLanguage): string {
  return fileURLToPath(new URL(WASM[language], PACKAGES));
}

/** Both TypeScript grammars use the same names of nodes, so they share one query. */
export function queryFile(language: ParsedLanguage): string {
  return fileURLToPath(new URL(`${language === 'tsx' ? 'typescript' : language}.scm`, import.meta.url));
}

/** A query file has two parts: definitions and imports, and the local names, which only classifying needs. */
export function splitQuery(source: string): { definitions: string; locals: string } {
  const [definitions = '', locals = ''] = source.split(/^;+ locals$/m);
  return { definitions, locals };
}
