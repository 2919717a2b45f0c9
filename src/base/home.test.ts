import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { initRepository, plainGit } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { readEnvironment } from './env.ts';
import { findHome, findRepository, homeAt } from './home.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const env = (more: NodeJS.ProcessEnv = {}) => readEnvironment({ HOME: '/home/dev', ...more });

/** A repository with one commit, so that worktrees can be made of it. */
function makeRepository(path: string): string {
  initRepository(path);
  return path;
}

describe('the home', () => {
  test("lies in the user's state folder, by name and path of the repository, seen from any folder in it", () => {
    const repo = makeRepository(join(dir, 'my repo'));
    mkdirSync(join(repo, 'a', 'b'), { recursive: true });
    const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);
    const home = `/home/dev/.local/state/reef/my_repo-${hash(repo)}`;
    const sockets = `/home/dev/.local/state/reef/run/${hash(home)}`;
    const expected = {
      dir: home,
      sockets,
      socket: join(sockets, 'reefd.sock'),
      person: join(sockets, 'person.key'),
      lock: join(home, 'daemon.lock'),
      token: join(sockets, 'door.token'),
      daemon: join(home, 'daemon.json'),
      door: join(home, 'door.json'),
      log: join(home, 'daemon.log'),
      database: join(home, 'reef.db'),
      snapshot: join(home, 'state.json'),
      repository: repo,
      worker: join(home, 'worker'),
    };
    expect([findHome(env(), repo), findHome(env(), join(repo, 'a', 'b'))]).toEqual([expected, expected]);
    expect(findHome(env({ XDG_STATE_HOME: '/state' }), repo).dir).toBe(`/state/reef/my_repo-${hash(repo)}`);
  });

  test('is the same by whichever link one comes to the repository', () => {
    const repo = makeRepository(join(dir, 'repo'));
    symlinkSync(repo, join(dir, 'link'));
    expect(findHome(env(), join(dir, 'link')).dir).toBe(findHome(env(), repo).dir);
  });

  test('of a worktree is that of its repository', () => {
    const repo = makeRepository(join(dir, 'repo'));
    plainGit(repo)('worktree', 'add', '-q', join(dir, 'tree'));
    expect(findHome(env(), join(dir, 'tree'))).toEqual(findHome(env(), repo));
  });

  test('of a worktree with relative links is that of its repository too', () => {
    const repo = makeRepository(join(dir, 'repo'));
    plainGit(repo)('worktree', 'add', '-q', join(dir, 'tree'));
    // As git 2.48 writes it with `worktree.useRelativePaths`.
    expect(readFileSync(join(dir, 'tree', '.git'), 'utf8')).toBe(`gitdir: ${repo}/.git/worktrees/tree\n`);
    writeFileSync(join(dir, 'tree', '.git'), 'gitdir: ../repo/.git/worktrees/tree\n');
    expect(findRepository(join(dir, 'tree'))).toBe(repo);
  });

  test('of a submodule is its own', () => {
    const repo = makeRepository(join(dir, 'repo'));
    mkdirSync(join(repo, 'sub'));
    writeFileSync(join(repo, 'sub', '.git'), 'gitdir: ../.git/modules/sub\n');
    expect(findRepository(join(repo, 'sub'))).toBe(join(repo, 'sub'));
  });

  test('is not that of an empty .git', () => {
    const repo = makeRepository(join(dir, 'repo'));
    mkdirSync(join(repo, 'a', '.git'), { recursive: true });
    expect(findRepository(join(repo, 'a'))).toBe(repo);
  });

  test('outside a repository is an error that says so', () => {
    expect(() => findHome(env(), dir)).toThrow(expect.objectContaining({ code: 'not_a_repository' }));
  });

  test('is where REEF_HOME says, in a repository or not', () => {
    const repo = makeRepository(join(dir, 'repo'));
    const at = (cwd: string, path: string) => {
      const { dir: home, repository } = findHome(env({ REEF_HOME: path }), cwd);
      return { home, repository };
    };
    expect([at(dir, '/x/y'), at(repo, '/x/y'), at(repo, 'mine')]).toEqual([
      { home: '/x/y', repository: undefined },
      { home: '/x/y', repository: repo },
      { home: join(repo, 'mine'), repository: repo },
    ]);
  });
});

verifies('X-131').test('all sockets lie in one folder, also those of homes that REEF_HOME moves', () => {
  const sockets = ['/a', '/b/c'].map((path) => homeAt(path, env()).sockets);
  expect(new Set(sockets.map((path) => dirname(path)))).toEqual(new Set(['/home/dev/.local/state/reef/run']));
  expect(new Set(sockets).size).toBe(2);
});

test('where the state folder is too deep for a socket, the runtime or cache folder takes its place', () => {
  const deep = { XDG_STATE_HOME: `/${'x'.repeat(60)}` };
  expect(homeAt('/a', env({ ...deep, XDG_RUNTIME_DIR: '/run/user/7' })).socket).toMatch(
    /^\/run\/user\/7\/reef\/run\/[0-9a-f]{12}\/reefd\.sock$/,
  );
  expect(homeAt('/a', env(deep)).socket).toMatch(/^\/home\/dev\/\.cache\/reef\/run\/[0-9a-f]{12}\/reefd\.sock$/);
});
