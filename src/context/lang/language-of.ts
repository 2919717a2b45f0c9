import { basename, extname } from 'node:path';
import { decodeSource, type Language } from './contract.ts';

export interface LanguageHint {
  /** The file's first bytes; 8 KiB are enough, only a header or a file without extension needs them. */
  head: Uint8Array;
  /** Extensions in the file's directory, lower case, without the dot. */
  siblingExtensions: ReadonlySet<string>;
}

const CPP_SOURCES = ['cpp', 'cc', 'cxx', 'hpp', 'hxx', 'hh'];

const BY_EXTENSION: ReadonlyMap<string, Language> = new Map<string, Language>([
  ...['ts', 'mts', 'cts'].map((extension) => [extension, 'typescript'] as const),
  ['tsx', 'tsx'],
  ...['js', 'jsx', 'mjs', 'cjs'].map((extension) => [extension, 'javascript'] as const),
  ...['py', 'pyi'].map((extension) => [extension, 'python'] as const),
  ['go', 'go'],
  ['rs', 'rust'],
  ['java', 'java'],
  ...['kt', 'kts'].map((extension) => [extension, 'kotlin'] as const),
  ...['scala', 'sc'].map((extension) => [extension, 'scala'] as const),
  ['c', 'c'],
  ...CPP_SOURCES.map((extension) => [extension, 'cpp'] as const),
  ...['m', 'mm'].map((extension) => [extension, 'objc'] as const),
  ['cs', 'csharp'],
  ['php', 'php'],
  ['rb', 'ruby'],
  ['swift', 'swift'],
  ...['sh', 'bash'].map((extension) => [extension, 'bash'] as const),
]);

/** The program a first line names, its version cut off. */
const BY_INTERPRETER: ReadonlyMap<string, Language> = new Map<string, Language>([
  ...['node', 'nodejs', 'bun'].map((program) => [program, 'javascript'] as const),
  ...['deno', 'tsx', 'ts-node'].map((program) => [program, 'typescript'] as const),
  ...['python', 'pypy', 'uv'].map((program) => [program, 'python'] as const),
  ...['sh', 'bash', 'dash', 'ksh', 'zsh'].map((program) => [program, 'bash'] as const),
  ['ruby', 'ruby'],
  ['php', 'php'],
  ['scala', 'scala'],
  ['kotlin', 'kotlin'],
  ['swift', 'swift'],
]);

/** Besides the two that declare: what only Objective-C imports or announces with. */
const OBJC_ONLY = /^[ \t]*(?:@(?:interface|protocol|class)\b|#\s*import\b)/m;
/** Lines no C header has: C++ keeps its public headers in a directory of their own. */
const CPP_ONLY = /^[ \t]*(?:namespace\s|template\s*<|using\s+\w|class\s+\w|#\s*include\s*<[a-z_]+>)/m;

/** `undefined` is plain text: words only, no structure. */
export function languageOf(path: string, hint: LanguageHint): Language | undefined {
  const extension = extname(basename(path)).slice(1).toLowerCase();
  if (extension === 'h') return headerLanguage(hint);
  return extension === '' ? shebangLanguage(hint.head) : BY_EXTENSION.get(extension);
}

function headerLanguage({ head, siblingExtensions }: LanguageHint): Language {
  const text = decodeSource(head);
  if (OBJC_ONLY.test(text)) return 'objc';
  const isCpp = CPP_SOURCES.some((extension) => siblingExtensions.has(extension)) || CPP_ONLY.test(text);
  return isCpp ? 'cpp' : 'c';
}

/** `#!/usr/bin/env -S VAR=1 python3.12 -u` names python: options and assignments are the launcher's. */
function shebangLanguage(head: Uint8Array): Language | undefined {
  const line = /^#!([^\n]{1,512})/.exec(decodeSource(head.subarray(0, 520)))?.[1] ?? '';
  const words = line.trim().split(/\s+/);
  const isEnv = basename(words[0] ?? '') === 'env';
  const program = isEnv ? words.slice(1).find((word) => !/^-|=/.test(word)) : words[0];
  return BY_INTERPRETER.get(basename(program ?? '').replace(/[\d.]+$/, ''));
}
