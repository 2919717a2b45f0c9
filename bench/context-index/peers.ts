import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { languageOf } from '../../src/context/lang/language-of.ts';
import { ParserPool } from '../../src/context/lang/parser-pool.ts';
import { median, timed } from '../measure.ts';
import type { Corpus } from './corpus.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const NO_HINT = { head: new Uint8Array(), siblingExtensions: new Set<string>() };

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
  return timed(() => {
    for (const { bytes } of contents(corpus)) createHash('sha1').update(bytes).digest('hex');
  });
}

/** Every identifier into a set of strings, in memory. */
export function identifierScan(corpus: Corpus): Promise<number> {
  return timed(() => {
    const kept: Set<string>[] = [];
    for (const { bytes } of contents(corpus))
      kept.push(new Set(bytes.toString('latin1').match(/[A-Za-z_$\x80-\xff][\w$\x80-\xff]+/g)));
    return kept.length;
  });
}

/** The parse alone, on one thread: no facts are read from the tree but those of the extraction itself. */
export async function bareParse(corpus: Corpus): Promise<number> {
  const pool = new ParserPool({ workers: 1 });
  const spent = await timed(async () => {
    for (const { path, bytes } of contents(corpus)) {
      const language = languageOf(path, NO_HINT);
      if (language) await pool.classify({ source: bytes, language, hits: [{ line: 1, column: 0 }] });
    }
  });
  await pool.close();
  return spent;
}

export function has(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

export async function ripgrep({ checkout }: Corpus, word: string, times = 5): Promise<number> {
  const runs: number[] = [];
  for (let at = 0; at < times; at++)
    runs.push(await timed(() => spawnSync('rg', ['-w', '-n', '-F', word, '.'], { cwd: checkout, maxBuffer: 1 << 30 })));
  return median(runs);
}

export function ctags({ checkout }: Corpus): Promise<number> {
  return timed(() => spawnSync('ctags', ['-R', '-f', '/dev/null', '.'], { cwd: checkout, stdio: 'ignore' }));
}

/** Hits by line and column from 1, as ripgrep sees them. */
export function ripgrepHits({ checkout }: Corpus, word: string): Set<string> {
  const { stdout } = spawnSync('rg', ['-w', '-F', '--vimgrep', '--no-messages', word, '.'], {
    cwd: checkout,
    maxBuffer: 1 << 30,
  });
  const lines = stdout.toString('utf8').split('\n').filter(Boolean);
  return new Set(lines.map((line) => /^\.\/(.*?):(\d+):/.exec(line)?.slice(1, 3).join(':') ?? ''));
}
