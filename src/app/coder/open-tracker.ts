import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import type { CoderDeps } from '../../coder/coder-deps.ts';
import { createGit } from '../../git/git-command.ts';
import { readHead } from '../../git/repository.ts';
import { allowedEnv, SYSTEM_PATH } from '../../process/environment.ts';
import { run } from '../../process/run.ts';
import { createGitSource, within } from '../../repostate/state/git-view.ts';
import { stateDirOf } from '../../repostate/state/state-file.ts';
import { Tracker } from '../../repostate/state/tracker.ts';

interface TrackerDeps extends Pick<CoderDeps, 'cwd' | 'jobId' | 'tell' | 'checks'> {
  env: Environment;
  clock: Clock;
  jobDir: string;
  /** Of an earlier process; undefined for the first process of a job. */
  lastTurn: number | undefined;
}

/** The state of a coder's worktree. `lines` name what changed while no process of the job was there. */
export async function openTracker(deps: TrackerDeps): Promise<{ tracker: Tracker; lines: readonly string[] }> {
  const { env, cwd, jobId, jobDir, clock, checks, tell, lastTurn } = deps;
  const git = createGit({ run, env: allowedEnv(env.all, [], { PATH: SYSTEM_PATH }) });
  const place = await git.locate(cwd);
  const base = await baseOf(jobDir, async () => (await readHead(git, place)).commit ?? '');
  const warn = (text: string) => void process.stderr.write(`${text}\n`);
  const tracker = new Tracker({
    workDir: cwd,
    stateDir: stateDirOf(join(jobDir, '../..'), cwd),
    storyId: jobId,
    jobId,
    base,
    clock,
    checks,
    git: within(createGitSource(git, place, base), relative(place.toplevel, cwd)),
    log: { debug() {}, info() {}, warn, error: warn },
    tell,
  });
  await tracker.load();
  tracker.beginTurn(lastTurn ?? 0);
  // The plan in the file belongs to an earlier job.
  if (lastTurn === undefined) tracker.setTasks([]);
  const { lines } = await tracker.refresh('load');
  return { tracker, lines };
}

/** The commit that the work is compared with stays the same, however often the agent commits. */
async function baseOf(jobDir: string, read: () => Promise<string>): Promise<string> {
  const file = join(jobDir, 'base');
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const base = await read();
  writeFileSync(file, base, { mode: 0o600 });
  return base;
}
