import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished } from 'vitest';
import { readCorpus } from '../../../bench/context-correctness/corpus.ts';
import { codeHits, wordsOf } from '../../../bench/context-correctness/references.ts';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from '../lang/contract.ts';
import { ParserPool } from '../lang/parser-pool.ts';

const hasRipgrep = spawnSync('rg', ['--version']).status === 0;
const parser = new ParserPool({ workers: 1, parseMs: 60_000 });
afterAll(() => parser.close());

/** Real packages, as they are installed. */
const PACKAGES: [path: string, language: Language][] = [
  ['zod/src/v3/helpers', 'typescript'],
  ['better-sqlite3/src', 'cpp'],
  ['tree-sitter-bash/src/tree_sitter', 'c'],
];

/** All pages of all references, as `file:line:column`. */
async function referencesTo(client: ServerClient, words: readonly string[]): Promise<string[]> {
  const places: string[] = [];
  for (const name of words) {
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const asked = { name, limit: 2_000, require: 'complete' as const, ...(cursor !== undefined && { cursor }) };
      const { references, next_cursor } = await client.call('get_symbol_references', asked);
      places.push(
        ...references.map(
          ({ location: { file, start_line, start_column } }) => `${file}:${start_line}:${start_column}`,
        ),
      );
      cursor = next_cursor;
    }
  }
  return places;
}

for (const [path, language] of PACKAGES) {
  verifies('C-127', 'C-060')
    .needs(hasRipgrep, 'ripgrep is not installed')
    .test(
      `of ${path} a server returns every hit of rg -w that is code, for every name defined there`,
      async () => {
        const repository = makeRepository({ 'README.md': 'A package.\n' });
        const source = new URL(`../../../node_modules/${path}`, import.meta.url).pathname;
        cpSync(source, join(repository.checkout, 'src'), { recursive: true });
        repository.commit('the package');
        const corpus = await readCorpus(path, repository.checkout);
        const files = corpus.files.filter((file) => file.language === language);
        const words = await wordsOf(parser, files);
        const wanted = await codeHits(files, words);
        const client = new ServerClient({
          ...{ worktree: repository.checkout, store: join(repository.root, 'index/code.db') },
        });
        onTestFinished(async () => void (await client.close()));
        const found = new Set(await referencesTo(client, words));
        const lost = wanted.filter((place) => !found.has(place));
        expect({ lost, isEnough: wanted.length >= 100 }).toEqual({ lost: [], isEnough: true });
      },
      300_000,
    );
}
