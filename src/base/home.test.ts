import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { initRepository, plainGit } from '../../test/support/repository.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
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
  test('is .reef at the root of the repository, seen from any folder in it', () => {
    const repo = makeRepository(join(dir, 'repo'));
    mkdirSync(join(repo, 'a', 'b'), { recursive: true });
    const expected = {
      dir: join(repo, '.reef'),
      socket: join(repo, '.reef', 'reefd.sock'),
      lock: join(repo, '.reef', 'daemon.lock'),
      daemon: join(repo, '.reef', 'daemon.json'),
      log: join(repo, '.reef', 'daemon.log'),
      database: join(repo, '.reef', 'reef.db'),
      snapshot: join(repo, '.reef', 'state.json'),
      repository: repo,
    };
    expect([findHome(env(), repo), findHome(env(), join(repo, 'a', 'b'))]).toEqual([expected, expected]);
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

describe('the socket', () => {
  const longest = `/${'x'.repeat(100 - '/reefd.sock'.length - 1)}`;

  test('lies in the home up to 100 bytes', () => {
    expect(homeAt(longest, env()).socket).toBe(`${longest}/reefd.sock`);
  });

  test('of a longer path moves to the runtime folder, one for each home', () => {
    const long = [`${longest}x`, `${longest}y`, `/${'ü'.repeat(50)}`];
    const sockets = long.map((path) => homeAt(path, env({ XDG_RUNTIME_DIR: '/run/user/7' })).socket);
    const again = long.map((path) => homeAt(path, env({ XDG_RUNTIME_DIR: '/run/user/7' })).socket);
    expect({
      distinct: new Set(sockets).size,
      again,
      short: sockets.every((path) => /^\/run\/user\/7\/reef\/run\/[0-9a-f]{16}\.sock$/.test(path)),
    }).toEqual({ distinct: 3, again: sockets, short: true });
  });

  test("without a runtime folder lies in a folder of the user's own", () => {
    const { socket } = homeAt(`${longest}x`, env());
    expect(socket).toMatch(/^\/home\/dev\/\.cache\/reef\/run\/[0-9a-f]{16}\.sock$/);
  });
});
