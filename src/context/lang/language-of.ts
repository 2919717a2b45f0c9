import { basename, extname } from 'node:path';
import { withoutEnd } from '../../base/without-end.ts';
import { decodeSource, type Language } from './contract.ts';

interface LanguageHint {
  /** The first 8 KiB of the file. Only headers and files without extension need them. */
  head: Uint8Array;
  siblingExtensions: ReadonlySet<string>;
}

const CPP_SOURCES = ['cpp', 'cc', 'cxx', 'hpp', 'hxx', 'hh'];

const BY_EXTENSION = byWord({
  typescript: 'ts mts cts',
  tsx: 'tsx',
  javascript: 'js jsx mjs cjs',
  python: 'py pyi',
  go: 'go',
  rust: 'rs',
  java: 'java',
  kotlin: 'kt kts',
  scala: 'scala sc',
  c: 'c',
  cpp: CPP_SOURCES.join(' '),
  objc: 'm mm',
  csharp: 'cs',
  php: 'php',
  ruby: 'rb',
  swift: 'swift',
  bash: 'sh bash',
});

/** By the program that the first line names, without its version. */
const BY_INTERPRETER = byWord({
  javascript: 'node nodejs bun',
  typescript: 'deno tsx ts-node',
  python: 'python pypy uv',
  bash: 'sh bash dash ksh zsh',
  ruby: 'ruby',
  php: 'php',
  scala: 'scala',
  kotlin: 'kotlin',
  swift: 'swift',
});

function byWord(words: Partial<Record<Language, string>>): ReadonlyMap<string, Language> {
  const entries = Object.entries(words) as [Language, string][];
  return new Map(entries.flatMap(([language, list]) => list.split(' ').map((word) => [word, language] as const)));
}

/** Only Objective-C declares or imports like this. */
const OBJC_ONLY = /^[ \t]*(?:@(?:interface|protocol|class)\b|#\s*import\b)/m;
/** No C header has such lines. Headers of C++ may lie in a folder without sources. */
const CPP_ONLY = /^[ \t]*(?:namespace\s|template\s*<|using\s+\w|class\s+\w|#\s*include\s*<[a-z_]+>)/m;

/** Undefined for plain text, which has words but no structure. */
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

/** `#!/usr/bin/env -S VAR=1 python3.12 -u` names python: options and assignments belong to `env`. */
function shebangLanguage(head: Uint8Array): Language | undefined {
  const line = /^#!([^\n]{1,512})/.exec(decodeSource(head.subarray(0, 520)))?.[1] ?? '';
  const words = line.trim().split(/\s+/);
  const isEnv = basename(words[0] ?? '') === 'env';
  const program = isEnv ? words.slice(1).find((word) => !/^-|=/.test(word)) : words[0];
  return BY_INTERPRETER.get(withoutEnd(basename(program ?? ''), '0123456789.'));
}
