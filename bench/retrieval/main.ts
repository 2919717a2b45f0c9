import { basename, delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CodeIndex } from '../../src/context/code-index/code-index.ts';
import { isAside } from '../../src/context/code-index/explore/candidates.ts';
import { knownDefinitions } from '../../src/context/code-index/query/definitions.ts';
import { RepoGraph } from '../../src/context/code-index/query/repo-graph.ts';
import type { View } from '../../src/context/code-index/tree/view.ts';
import { ParserPool } from '../../src/context/lang/parser-pool.ts';
import { createGit } from '../../src/git/git-command.ts';
import { run } from '../../src/process/run.ts';
import { GIT_ENV, plainGit } from '../../test/support/repository.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { PlainBm25 } from './bm25.ts';
import { type Fix, fixesOf } from './cases.ts';
import { askCodeGraph, hasCodeGraph } from './codegraph.ts';
import { generateHistory } from './generated.ts';
import { type Figure, report } from './report.ts';
import { askReef, variants } from './systems.ts';
import { judge, type Shown, type Wanted, wantedIn } from './wanted.ts';

/**
 * The subject of a fix commit → the functions it changed, asked of the tree before it. Paths of local clones come as arguments or in
 * REEF_BENCH_REPOS; nothing is fetched, and nobody's checkout is touched.
 */
const { values, positionals } = parseArgs({
  options: { questions: { type: 'string', default: '40' }, ablate: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const BUDGETS = values.ablate ? [4_000] : [2_000, 4_000, 8_000];
const MOST_WANTED = 6;
/** In the place of a budget: CodeGraph chooses the size of its answer. */
const CHOSEN = 0;
const PARSED = /\.(ts|tsx|js|jsx|mjs|cjs|py|go|rs|java|kt|scala|c|h|cc|cpp|hpp|cs|php|rb)$/;
const isCode = (path: string) => PARSED.test(path) && !isAside(path);

using own = disposableFolder();
const given = [...positionals, ...(process.env.REEF_BENCH_REPOS ?? '').split(delimiter).filter(Boolean)];
const sources = given.length > 0 ? given.map((path) => resolve(path)) : [generateHistory(own.path)];
const all: Figure[] = [];
for (const source of sources) {
  const figures = await measure(source);
  report(basename(source), figures);
  all.push(...figures);
}
if (sources.length > 1) report('all', all);
if (!hasCodeGraph()) console.log('\ncodegraph: absent');
process.exitCode = all.length > 0 ? 0 : 1;

async function measure(source: string): Promise<Figure[]> {
  using folder = disposableFolder();
  const checkout = join(folder.path, 'repo');
  plainGit(folder.path)('clone', '-q', '--shared', source, checkout);
  const git = plainGit(checkout);
  const pool = new ParserPool({ workers: 2 });
  const index = await CodeIndex.open({
    git: createGit({ run, env: GIT_ENV }),
    worktree: checkout,
    storeFile: join(folder.path, 'code.db'),
    workers: 2,
    engine: 'bench',
    parser: async () => pool,
  });
  const tools = { index, graph: new RepoGraph(index), peer: new PlainBm25() };
  const figures: Figure[] = [];
  let left = Number(values.questions);
  for (const fix of fixesOf(git, isCode)) {
    if (left === 0) break;
    git('checkout', '-q', '-f', '--detach', fix.parent);
    const view = await index.view();
    await index.until(() => index.pending === 0, { ms: 600_000 });
    const wanted = wantedOf(index, view, fix);
    if (wanted.length === 0 || wanted.length > MOST_WANTED) continue;
    figures.push(...(await answers({ ...tools, view, checkout }, fix.subject, wanted)));
    left -= 1;
  }
  await index.close();
  await pool.close();
  return figures;
}

interface Tools {
  index: CodeIndex;
  graph: RepoGraph;
  peer: PlainBm25;
  view: View;
  checkout: string;
}

async function answers(tools: Tools, question: string, wanted: readonly Wanted[]): Promise<Figure[]> {
  const { index, peer, view, checkout } = tools;
  const figures: Figure[] = [];
  const ask = async (system: string, budget: number, answer: () => Shown | Promise<Shown>) => {
    const begun = performance.now();
    const shown = await answer();
    figures.push({ system, budget, ms: performance.now() - begun, ...judge(wanted, shown) });
  };
  for (const budget of BUDGETS) {
    await ask('plain BM25 over functions', budget, () => peer.answer(index, view, { question, isCode })(budget));
    for (const [system, weights] of variants(values.ablate))
      await ask(system, budget, () => askReef(tools, { question, budget, weights }));
  }
  if (hasCodeGraph()) await ask('codegraph', CHOSEN, () => askCodeGraph(checkout, question));
  return figures;
}

function wantedOf(index: CodeIndex, view: View, { changed }: Fix): Wanted[] {
  return changed.flatMap((each) => {
    const file = view.files.get(each.path);
    return file ? wantedIn(each, knownDefinitions(index, file)) : [];
  });
}
