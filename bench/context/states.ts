import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { createGit } from '../../src/git/git-command.ts';
import { run as runProgram } from '../../src/process/run.ts';
import type { RepoState } from '../../src/protocol/repostate.ts';
import { createGitSource } from '../../src/repostate/state/git-view.ts';
import { Tracker } from '../../src/repostate/state/tracker.ts';
import { GIT_ENV, initRepository, plainGit, writeFiles } from '../../test/support/repository.ts';
import type { Trajectory, Turn } from './trajectory.ts';

export interface States {
  /** The product's state before each turn. */
  at: Readonly<RepoState>[];
  /** Facts of the snapshots held against git and the disk, and how many were wrong. */
  checked: number;
  wrong: string[];
}

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const NEVER = { ...systemClock, now: () => new Date('2026-01-01T00:00:00Z') };

/** Folds a run through the product's own tracker: in a real repository where the run has one, else from tools alone. */
export async function statesOf(run: Trajectory, scratch: string): Promise<States> {
  const workDir = run.repo ? makeRepository(run.repo, scratch) : join(scratch, 'none');
  const git = run.repo ? await gitSource(workDir) : undefined;
  const tracker = new Tracker({
    workDir,
    stateDir: join(scratch, 'state'),
    storyId: run.id,
    jobId: run.id,
    base: git?.base ?? '',
    ...(git && { git: git.source }),
    clock: git ? systemClock : NEVER,
    log: QUIET,
    tell: () => undefined,
  });
  const states: States = { at: [], checked: 0, wrong: [] };
  if (git) await tracker.refresh('load');
  for (const [n, turn] of run.turns.entries()) {
    states.at.push(steady(tracker.getSnapshot(), run.id));
    tracker.beginTurn(n);
    await play(tracker, turn, workDir);
    if (git) checkTruth(states, tracker.getSnapshot(), workDir);
  }
  await tracker.close();
  if (run.repo) rmSync(workDir, { recursive: true, force: true });
  return states;
}

/** Where it ran and when is no part of a run: two measurements must agree to the token. */
function steady(state: Readonly<RepoState>, id: string): RepoState {
  const copy = structuredClone(state);
  return {
    ...copy,
    workDir: `/home/dev/${id}`,
    base: copy.base && '4be91c2'.padEnd(40, '0'),
    lastUpdated: '2026-01-01T00:00:00Z',
  };
}

async function play(tracker: Tracker, turn: Turn, workDir: string): Promise<void> {
  for (const call of turn.calls) {
    writeAll(workDir, call.files ?? {});
    const path = typeof call.args.path === 'string' ? call.args.path : undefined;
    await tracker.updateFromToolResult(call.tool, {
      success: true,
      noop: call.noop ?? false,
      ...(path !== undefined && { path }),
      command: call.args.command ?? '',
      exit: call.exit ?? null,
      output: call.result,
    });
    if (call.outside) {
      writeAll(workDir, call.outside);
      await tracker.refresh('turn');
    }
  }
}

function makeRepository(files: Readonly<Record<string, string>>, scratch: string): string {
  const workDir = join(scratch, 'repository');
  initRepository(workDir, files);
  return workDir;
}

function writeAll(workDir: string, files: Readonly<Record<string, string | null>>): void {
  for (const [path, content] of Object.entries(files)) {
    if (content === null) rmSync(join(workDir, path), { force: true });
    else writeFiles(workDir, { [path]: content });
  }
}

async function gitSource(workDir: string) {
  const command = createGit({ run: runProgram, env: { PATH: GIT_ENV.PATH, HOME: GIT_ENV.HOME } });
  const place = await command.locate(workDir);
  const base = plainGit(workDir)('rev-parse', 'HEAD');
  return { base, source: createGitSource(command, place, base) };
}

/** Every listed file against `git hash-object` and SHA-256, and the list against `git status`. */
function checkTruth(states: States, state: Readonly<RepoState>, workDir: string): void {
  const present = state.files.filter(({ status }) => status !== 'deleted');
  const paths = present.map(({ path }) => path);
  const oids = paths.length === 0 ? [] : plainGit(workDir)('hash-object', '--', ...paths).split('\n');
  for (const [index, file] of present.entries()) {
    const sha256 = createHash('sha256')
      .update(readFileSync(join(workDir, file.path)))
      .digest('hex');
    judge(states, file.hash === sha256 && file.blob === oids[index], `${state.storyId}: ${file.path}`);
  }
  const changed = plainGit(workDir)('status', '--porcelain', '-z', '--no-renames', '--untracked-files=all').split('\0');
  const expected = changed.filter((line) => line !== '').map((line) => line.replace(/^.. ?/, ''));
  const listed = new Set(state.files.flatMap(({ path, from, status }) => (status === 'unchanged' ? [] : [path, from])));
  judge(
    states,
    expected.every((path) => listed.has(path)),
    `${state.storyId}: list`,
  );
}

function judge(states: States, isTrue: boolean, what: string): void {
  states.checked++;
  if (!isTrue) states.wrong.push(what);
}
