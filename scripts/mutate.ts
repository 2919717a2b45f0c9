/**
 * npm run mutate -- ROOM [--count 40] [--minutes 10] [--seed 1]: changes the sources of a folder of src in a copy, one place at
 * a time, and runs the tests of that folder and those that import the changed file. Survivors are what no test notices.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { isTest, ROOT, sourceFiles } from '../test/support/source-files.ts';
import { type Mutant, mutantsOf, mutate, sample } from './mutants.ts';

const HEAVY = /^test\/(?:agents|e2e|faults|journeys|page)\//;
const COPIED = ['src', 'test', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts'];
/** Of tests that hang: their mutant is noticed. */
const LONGEST_MS = 180_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '40' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});
const [room = ''] = positionals;
const sources = sourceFiles('src').filter((path) => path.startsWith(`src/${room}/`) && !isTest(path));
if (room === '' || sources.length === 0) {
  console.error('name a folder of src, such as store or workflow/walk');
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'reef-mutants-'));
try {
  process.exitCode = run();
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function run(): number {
  const without = (path: string) => basename(path) !== 'node_modules';
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter: without });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const all = sources.flatMap((path) => mutantsOf(path, readFileSync(join(ROOT, path), 'utf8')));
  const until = performance.now() + Number(values.minutes) * 60_000;
  const survivors: Mutant[] = [];
  let tried = 0;
  for (const mutant of sample(all, Number(values.count), Number(values.seed))) {
    if (performance.now() > until) break;
    tried += 1;
    if (isNoticed(mutant)) continue;
    survivors.push(mutant);
    console.log(
      `survived  ${mutant.path}:${mutant.line}  ${mutant.was.trim()}  became  ${mutant.now.trim() || 'nothing'}`,
    );
  }
  const score = Math.round((100 * (tried - survivors.length)) / Math.max(1, tried));
  console.log(
    `${room}: ${tried} of ${all.length} mutants, ${survivors.length} survived, score ${score} %, seed ${values.seed}`,
  );
  return survivors.length > 0 ? 1 : 0;
}

function isNoticed(mutant: Mutant): boolean {
  const code = readFileSync(join(ROOT, mutant.path), 'utf8');
  writeFileSync(join(copy, mutant.path), mutate(code, mutant));
  const args = ['run', ...testsOf(mutant.path), '--bail=1', '--maxWorkers=1', '--reporter=dot'];
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), args, {
    cwd: copy,
    stdio: 'ignore',
    timeout: LONGEST_MS,
  });
  writeFileSync(join(copy, mutant.path), code);
  return status !== 0;
}

/** Those of the folder, and all that import the file. */
function testsOf(path: string): string[] {
  const named = `/${basename(path)}'`;
  const tests = [...sourceFiles('src'), ...sourceFiles('test')].filter((each) => isTest(each) && !HEAVY.test(each));
  return tests.filter(
    (each) => each.startsWith(`src/${room}/`) || readFileSync(join(ROOT, each), 'utf8').includes(named),
  );
}
