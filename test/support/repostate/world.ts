import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import type { RepoState, StateNews } from '../../../src/protocol/repostate.ts';
import { createGitSource, type GitSource } from '../../../src/repostate/state/git-view.ts';
import { Tracker, type TrackerSettings } from '../../../src/repostate/state/tracker.ts';
import { makeRepository, type TestRepository } from '../repository.ts';

/** Where the state of its checkout is kept. */
export const stateDirIn = ({ root }: TestRepository) => join(root, 'state');

export interface World {
  repository: TestRepository;
  tracker: Tracker;
  news: StateNews[];
  warnings: string[];
  /** A command as an agent runs it. */
  shell(command: string): string;
}

/** A tracker over a real repository, scanned once. */
export async function makeWorld(
  files: Record<string, string>,
  settings: Partial<TrackerSettings> & { source?: (real: GitSource) => GitSource } = {},
): Promise<World> {
  const repository = makeRepository(files);
  const base = repository.plain('rev-parse', 'HEAD');
  const world = trackerOn(repository, base, settings);
  await world.tracker.refresh('load');
  return world;
}

export function trackerOn(
  repository: TestRepository,
  base: string,
  { source = (real) => real, ...settings }: Partial<TrackerSettings> & { source?: (real: GitSource) => GitSource } = {},
): World {
  const news: StateNews[] = [];
  const warnings: string[] = [];
  const tracker = new Tracker({
    workDir: repository.checkout,
    stateDir: stateDirIn(repository),
    storyId: 'run-1',
    jobId: 'j-1',
    base,
    git: source(createGitSource(repository.git, repository.place, base)),
    clock: systemClock,
    log: { debug: () => {}, info: () => {}, warn: (message) => warnings.push(message), error: () => {} },
    tell: (one) => news.push(one),
    ...settings,
  });
  const shell = (command: string) =>
    execFileSync('sh', ['-c', command], { cwd: repository.checkout, env: repository.env, encoding: 'utf8' });
  return { repository, tracker, news, warnings, shell };
}

/** Path, status and author of what the state lists, in order of the paths. */
export function filesOf(tracker: Tracker): string[] {
  const { files } = tracker.getSnapshot();
  return files
    .map(
      ({ path, status, wrote, from }) =>
        `${path} ${status}${from ? ` from ${from}` : ''}${wrote ? ` ${wrote.via} t${wrote.turn}` : ''}`,
    )
    .sort();
}

/** Listed files whose hashes are not those of `git hash-object` and SHA-256; and changes git knows that are not listed. */
export function liesOf({ repository }: World, state: Readonly<RepoState>): string[] {
  const wrong = state.files.filter(({ path, hash, blob, status, size }) => {
    if (status === 'deleted') return false;
    const isLink = repository.plain('ls-files', '-s', '--', path).startsWith('120000');
    const content = isLink
      ? Buffer.from(readlinkSync(join(repository.checkout, path)))
      : readFileSync(join(repository.checkout, path));
    const sha256 = createHash('sha256').update(content).digest('hex');
    const expected = isLink ? blob : repository.plain('hash-object', '--', path);
    return hash !== sha256 || blob !== expected || size !== content.length;
  });
  const listed = new Set(state.files.flatMap(({ path, from, status }) => (status === 'unchanged' ? [] : [path, from])));
  const changed = repository.plain('status', '--porcelain', '-z', '--no-renames', '--untracked-files=all').split('\0');
  const missing = changed.filter((line) => line !== '' && !listed.has(line.slice(3)) && !line.includes('.reef/'));
  return [...wrong.map(({ path }) => path), ...missing];
}
