import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Checkout } from '../../src/git/checkout.ts';
import { createGit, type Git } from '../../src/git/git-command.ts';
import { run } from '../../src/process/run.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Somebody to commit as, and no configuration of the machine. */
export const GIT_ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A User',
  GIT_AUTHOR_EMAIL: 'user@example.invalid',
  GIT_COMMITTER_NAME: 'A User',
  GIT_COMMITTER_EMAIL: 'user@example.invalid',
};

export type PlainGit = (...args: string[]) => string;

/** Git as anybody runs it in a folder; returns what it wrote, less the last line break. */
export function plainGit(folder: string, env: NodeJS.ProcessEnv = GIT_ENV): PlainGit {
  const options = { env, encoding: 'utf8', stdio: 'pipe', maxBuffer: 1 << 30 } as const;
  return (...args) => execFileSync('git', ['-C', folder, ...args], options).replace(/\n$/, '');
}

export function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** Makes a folder a repository whose first commit holds all that is in it, and these files. */
export function initRepository(folder: string, files: Record<string, string> = {}, git = plainGit(folder)): PlainGit {
  mkdirSync(folder, { recursive: true });
  writeFiles(folder, files);
  git('init', '-q', '-b', 'main', '--template=');
  git('add', '-A');
  git('commit', '-q', '--allow-empty', '-m', 'first');
  return git;
}

export interface TestRepository {
  /** Holds the checkout, a home of its own and whatever else a test makes. */
  root: string;
  checkout: string;
  env: Record<string, string>;
  git: Git;
  place: Checkout;
  plain: PlainGit;
  write(path: string, content: string | Uint8Array): void;
  /** Commits everything and returns the commit. */
  commit(message: string): string;
}

/** A real repository with one commit, in a folder that is gone when the test has ended. */
export function makeRepository(files: Record<string, string> = { 'a.txt': 'one\n' }): TestRepository {
  const root = temporaryFolder();
  const home = join(root, 'home');
  const checkout = join(root, 'repo');
  // No upkeep after each commit: it would cost every test a process or two.
  const settings =
    '[user]\n\tname = A User\n\temail = user@example.invalid\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n';
  writeFiles(home, { '.gitconfig': settings });
  const env = { PATH: process.env.PATH ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  const plain = initRepository(checkout, files, plainGit(checkout, env));
  return {
    root,
    checkout,
    env,
    plain,
    git: createGit({ run, env: { PATH: env.PATH, HOME: home }, lockWaitMs: 300 }),
    place: { toplevel: checkout, gitDir: join(checkout, '.git'), commonDir: join(checkout, '.git') },
    write: (path, content) => writeFiles(checkout, { [path]: content }),
    commit(message) {
      plain('add', '-A');
      plain('commit', '-q', '--allow-empty', '-m', message);
      return plain('rev-parse', 'HEAD');
    },
  };
}

/** Kind, mode, time and content of everything below a folder, less what `isLeftOut` names by its path from there. */
export function pictureOf(folder: string, isLeftOut: (path: string) => boolean = () => false): string[] {
  const walk = (file: Buffer, path: string): string[] => {
    if (isLeftOut(path)) return [];
    const stat = lstatSync(file, { bigint: true });
    if (stat.isDirectory()) {
      const names = readdirSync(file, { encoding: 'buffer' }).sort(Buffer.compare);
      return names.flatMap((name) =>
        walk(Buffer.concat([file, Buffer.from('/'), name]), `${path}${path && '/'}${name.toString('latin1')}`),
      );
    }
    const content = stat.isSymbolicLink()
      ? readlinkSync(file)
      : createHash('sha256').update(readFileSync(file)).digest('hex');
    return [`${path} ${stat.mode.toString(8)} ${stat.mtimeNs} ${content}`];
  };
  return walk(Buffer.from(folder), '');
}

/** All that a command must leave alone in a user's checkout: files, index, stash, refs; not objects and Reef's own refs. */
export function userPicture(checkout: string): string[] {
  return pictureOf(checkout, (path) => path === '.git/objects' || path === '.git/refs/reef');
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
