import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { createGit } from '../../src/git/git-command.ts';
import { readStatus } from '../../src/git/status.ts';
import { run } from '../../src/process/run.ts';
import { createGitSource } from '../../src/repostate/state/git-view.ts';
import { Tracker } from '../../src/repostate/state/tracker.ts';
import { GIT_ENV, initRepository } from '../../test/support/repository.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { median, printRows, timed } from '../measure.ts';

const FILES = 10_000;
const CHANGES = 5;
const ROUNDS = 15;

/** S-64: a look at a repository of 10,000 files with 5 changes, against `git status` in the same run. */
using folder = disposableFolder();
const dir = folder.path;
const pathOf = (n: number) => join(dir, `d${n % 100}`, `f${n}.txt`);

for (let n = 0; n < FILES; n++) {
  mkdirSync(join(dir, `d${n % 100}`), { recursive: true });
  writeFileSync(pathOf(n), `${n}\n`.repeat(20));
}
const base = initRepository(dir)('rev-parse', 'HEAD');
const git = createGit({ run, env: GIT_ENV });
const place = await git.locate(dir);
const tracker = new Tracker({
  workDir: dir,
  stateDir: join(dir, '.git', 'state'),
  storyId: 'bench',
  jobId: 'bench',
  base,
  git: createGitSource(git, place, base),
  clock: systemClock,
  log: { debug: () => {}, info: () => {}, warn: console.error, error: console.error },
  tell: () => undefined,
});
await tracker.refresh('load');
const [status, refresh]: [number[], number[]] = [[], []];
for (let round = 0; round < ROUNDS; round++) {
  for (let n = 0; n < CHANGES; n++) appendFileSync(pathOf(n), 'more\n');
  status.push(await timed(() => readStatus(git, place)));
  refresh.push(await timed(() => tracker.refresh('turn')));
}
const row = { what: `refresh of ${FILES} files, ${CHANGES} changed`, ours: median(refresh), theirs: median(status) };
const isMet = printRows('context refresh, against git status', [{ ...row, unit: 'ms', target: { most: 1.5 } }]);
process.exitCode = isMet ? 0 : 1;
