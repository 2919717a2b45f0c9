/** A program of its own, so that it runs with the flags of a server: parses the files named on stdin, and prints the CPU time it took. */
import { readFileSync } from 'node:fs';
import { decodeSource } from '../../src/context/lang/decode-source.ts';
import { Engine } from '../../src/context/lang/engine.ts';
import { languageOf } from '../../src/context/lang/language-of.ts';
import { tooLarge } from '../../src/context/lang/limits.ts';

const NO_HINT = { head: new Uint8Array(), siblingExtensions: new Set<string>() };

const engine = await Engine.start();
const before = process.cpuUsage();
for (const path of readFileSync(0, 'utf8').split('\0').filter(Boolean)) {
  const language = languageOf(path, NO_HINT);
  if (language === undefined || language === 'swift') continue;
  const bytes = readFileSync(path);
  if (tooLarge(bytes)) continue;
  const loaded = await engine.load(language);
  engine.parse(decodeSource(bytes), loaded, () => false)?.delete();
}
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1_000);
