import { spawnSync } from 'node:child_process';
import { afterAll, expect } from 'vitest';
import { compareLanguage } from '../../../bench/context-correctness/compare.ts';
import { type Corpus, readCorpus } from '../../../bench/context-correctness/corpus.ts';
import { byDialect } from '../../../bench/context-correctness/dialect.ts';
import { checkReferences } from '../../../bench/context-correctness/references.ts';
import { scoreOf } from '../../../bench/context-correctness/report.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from './contract.ts';
import { ParserPool } from './parser-pool.ts';

/** A small part of bench/context-correctness, on packages that are always installed. */
const hasCtags = /Universal Ctags/.test(spawnSync('ctags', ['--version']).stdout?.toString() ?? '');
const hasRipgrep = spawnSync('rg', ['--version']).status === 0;
const parser = new ParserPool({ workers: 1, parseMs: 60_000 });
afterAll(() => parser.close());

const installed = (path: string): Promise<Corpus> =>
  readCorpus(path, new URL(`../../../node_modules/${path}`, import.meta.url).pathname);

async function score(path: string, language: Language) {
  const corpus = await installed(path);
  const groups = await byDialect(corpus.files.filter((file) => file.language === language));
  const group = groups.find(({ label }) => label === language);
  if (group === undefined) throw new Error(`no ${language} in ${path}`);
  return scoreOf(await compareLanguage(parser, group));
}

verifies('C-126')
  .needs(hasCtags, 'universal-ctags is not installed')
  .test(
    'definitions of real TypeScript, C and C++ agree with ctags',
    async () => {
      const scores = [
        await score('zod/src/v3', 'typescript'),
        await score('tree-sitter-python/src', 'c'),
        await score('better-sqlite3/src', 'cpp'),
      ];
      for (const { label, tags, judged } of scores) {
        expect({
          label,
          isEnough: tags >= 30,
          isRecalled: judged.recall >= 0.98,
          isPrecise: judged.precision >= 0.95,
        }).toEqual({
          label,
          isEnough: true,
          isRecalled: true,
          isPrecise: true,
        });
      }
    },
    120_000,
  );

verifies('C-127', 'C-060')
  .needs(hasRipgrep, 'ripgrep is not installed')
  .test(
    'every hit of rg -w that is neither comment nor string is code',
    async () => {
      const checks = [
        await checkReferences(parser, await installed('zod/src/v3/helpers'), 'typescript'),
        await checkReferences(parser, await installed('tree-sitter-python/src'), 'c'),
        await checkReferences(parser, await installed('better-sqlite3/src'), 'cpp'),
      ];
      for (const { language, hits, lost } of checks) {
        expect({ language, isEnough: hits >= 100, lost }).toEqual({ language, isEnough: true, lost: [] });
      }
    },
    120_000,
  );
