import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Language } from './contract.ts';
import { engineFile, grammarFile, queryFile } from './grammars.ts';

/** Our own files that decide what is extracted. */
const READERS = [
  'facts.ts',
  'definitions-query.ts',
  'pack-facts.ts',
  'read-source.ts',
  'readable-text.ts',
  'query-roots.ts',
  'resolve-name.ts',
  'tree-memory.ts',
  'visibility.ts',
  'contract.ts',
  '../../base/line-index.ts',
];
const SCANNER = [
  'swift-scanner.ts',
  'lexical-mask.ts',
  '../../base/line-index.ts',
  'pack-facts.ts',
  'read-source.ts',
  'visibility.ts',
  'contract.ts',
];

/** The version of the extractor of each language. Facts of another version are extracted again. */
export class ExtractorVersions {
  readonly #known = new Map<Language, string>();
  readonly #read: (file: string) => Uint8Array;

  constructor(read: (file: string) => Uint8Array = (file) => readFileSync(file)) {
    this.#read = read;
  }

  /** 16 hexadecimal digits. The files of a language are read once. */
  extractorVersion(language: Language): string {
    const known = this.#known.get(language);
    if (known !== undefined) return known;
    const hash = createHash('sha256');
    for (const file of filesBehind(language)) hash.update(this.#read(file)).update('\0');
    const version = hash.digest('hex').slice(0, 16);
    this.#known.set(language, version);
    return version;
  }
}

/** What decides which language a file has. */
export const namingFile = fileURLToPath(new URL('language-of.ts', import.meta.url));

function filesBehind(language: Language): string[] {
  const own = (names: string[]) => names.map((name) => fileURLToPath(new URL(name, import.meta.url)));
  if (language === 'swift') return own(SCANNER);
  return [engineFile(), grammarFile(language), queryFile(language), ...own(READERS)];
}
