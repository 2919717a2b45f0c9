import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasDollarNames } from '../../src/context/code-index/words/hits.ts';
import { languageOf } from '../../src/context/lang/language-of.ts';
import { timed } from '../measure.ts';
import type { Corpus } from './corpus.ts';
import { meanCpu, type Spent } from './cpu.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const NO_HINT = { head: new Uint8Array(), siblingExtensions: new Set<string>() };
const BARE_PARSE = join(import.meta.dirname, 'bare-parse.ts');

function* contents({ checkout, files }: Corpus): Generator<{ path: string; bytes: Buffer }> {
  for (const path of files) {
    let bytes: Buffer;
    try {
      bytes = readFileSync(join(checkout, path));
    } catch {
      continue; // a link to nowhere, a submodule
    }
    if (bytes.length <= MAX_BYTES && !bytes.subarray(0, 8_192).includes(0)) yield { path, bytes };
  }
}

export function sourceBytes(corpus: Corpus): number {
  let sum = 0;
  for (const { bytes } of contents(corpus)) sum += bytes.length;
  return sum;
}

/** What no index can beat: every byte read and hashed once. */
export function readAndHash(corpus: Corpus): Promise<number> {
  return meanCpu(process.pid, 1, () => {
    for (const { bytes } of contents(corpus)) createHash('sha1').update(bytes).digest('hex');
  });
}

/** Every identifier into a set of strings, in memory: how long that takes. */
export function identifierScan(corpus: Corpus): Promise<number> {
  return timed(() => {
    const kept: Set<string>[] = [];
    for (const { bytes } of contents(corpus))
      kept.push(new Set(bytes.toString('latin1').match(/[A-Za-z_$\x80-\xff][\w$\x80-\xff]+/g)));
    return kept.length;
  });
}

/** The parse alone, on one thread, by a Node without any flags. */
export function bareParse({ checkout, files }: Pick<Corpus, 'checkout' | 'files'>): Spent {
  const input = files.map((path) => join(checkout, path)).join('\0');
  const { stdout } = spawnSync(process.execPath, [BARE_PARSE], { input, encoding: 'utf8' });
  return JSON.parse(stdout) as Spent;
}

export function has(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

export function ripgrep({ checkout }: Corpus, word: string, times = 20): Promise<number> {
  const args = ['-w', '-n', '-F', word, '.'];
  return meanCpu(process.pid, times, () => spawnSync('rg', args, { cwd: checkout, maxBuffer: 1 << 30 }));
}

export function ctags({ checkout }: Corpus): Promise<number> {
  const args = ['-R', '-f', '/dev/null', '.'];
  return meanCpu(process.pid, 1, () => spawnSync('ctags', args, { cwd: checkout, stdio: 'ignore' }));
}

/** Lines that hold a word as ripgrep sees them, but for what is another name where `$` belongs to names. */
export function ripgrepHits({ checkout }: Corpus, word: string): Set<string> {
  // The match alone: of a minified file the whole line would come with each.
  const pattern = `[$]?\\b${word.replaceAll('$', '[$]')}\\b[$]?`;
  const { stdout } = spawnSync('rg', ['-o', '--vimgrep', '--no-messages', pattern, '.'], {
    cwd: checkout,
    maxBuffer: 1 << 30,
  });
  const lines = new Set<string>();
  for (const found of stdout.toString('latin1').split('\n')) {
    const [, path = '', line, match] = /^\.\/(.*?):(\d+):\d+:(.*)$/.exec(found) ?? [];
    const isOther = match !== word && hasDollarNames(languageOf(path, NO_HINT));
    if (line !== undefined && !isOther) lines.add(`${path}:${line}`);
  }
  return lines;
}
