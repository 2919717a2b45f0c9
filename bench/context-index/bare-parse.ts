/** A program of its own: parses the files named on stdin with web-tree-sitter as it comes, and prints what it took, by processor and by clock. */
import { readFileSync } from 'node:fs';
import { Language, Parser } from 'web-tree-sitter';
import { decodeSource } from '../../src/context/lang/contract.ts';
import { grammarFile, type ParsedLanguage } from '../../src/context/lang/grammars.ts';
import { languageOf } from '../../src/context/lang/language-of.ts';
import { tooLarge } from '../../src/context/lang/limits.ts';

const NO_HINT = { head: new Uint8Array(), siblingExtensions: new Set<string>() };

await Parser.init();
const parser = new Parser();
const grammars = new Map<ParsedLanguage, Language>();
const [before, begun] = [process.cpuUsage(), performance.now()];
for (const path of readFileSync(0, 'utf8').split('\0').filter(Boolean)) {
  const language = languageOf(path, NO_HINT);
  if (language === undefined || language === 'swift') continue;
  const bytes = readFileSync(path);
  if (tooLarge(bytes)) continue;
  const grammar = grammars.get(language) ?? (await Language.load(readFileSync(grammarFile(language))));
  grammars.set(language, grammar);
  parser.setLanguage(grammar);
  parser.parse(decodeSource(bytes))?.delete();
}
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ cpu: (user + system) / 1_000, elapsed: performance.now() - begun }));
