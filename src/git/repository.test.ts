import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRepository } from '../../test/support/repository.ts';
import { ReefError } from '../protocol/errors.ts';
import {
  branchUnderRebase,
  findCommit,
  isAncestor,
  operationUnderWay,
  readHead,
  readIdentity,
  readRef,
  readTree,
} from './repository.ts';

const fails = (...command: string[]) => {
  try {
    execFileSync('git', command, { stdio: 'pipe' });
    return false;
  } catch {
    return true;
  }
};

test('head, refs, trees and ancestry are read', async () => {
  const { git, place, plain, commit } = makeRepository();
  const first = plain('rev-parse', 'HEAD');
  const second = commit('second');
  plain('tag', '-a', '-m', 'x', 'v1', first);
  expect({
    head: await readHead(git, place),
    relative: await findCommit(git, place, 'main~1'),
    tag: await findCommit(git, place, 'v1'),
    none: await findCommit(git, place, 'nope'),
    ref: await readRef(git, place, 'refs/heads/main'),
    noRef: await readRef(git, place, 'refs/heads/nope'),
    tree: await readTree(git, place, second),
    forward: await isAncestor(git, place, { of: second, commit: first }),
    backward: await isAncestor(git, place, { of: first, commit: second }),
  }).toEqual({
    head: { commit: second, branch: 'refs/heads/main' },
    relative: first,
    tag: first,
    none: undefined,
    ref: second,
    noRef: undefined,
    tree: plain('rev-parse', 'HEAD^{tree}'),
    forward: true,
    backward: false,
  });
});

test('a detached head has no branch, a repository without a commit is empty', async () => {
  const { git, root, place, plain } = makeRepository();
  plain('checkout', '-q', '--detach');
  const empty = join(root, 'empty');
  plain('init', '-q', empty);
  const refused = await readHead(git, await git.locate(empty)).catch((error: unknown) => error);
  expect(await readHead(git, place)).toEqual({ commit: plain('rev-parse', 'HEAD') });
  expect(refused).toMatchObject({ code: 'repo_empty' });
  expect(refused).toBeInstanceOf(ReefError);
});

test('SHA-256 repositories are read like others', async () => {
  const { git, root, plain } = makeRepository();
  const path = join(root, 'sha256');
  plain('init', '-q', '--object-format=sha256', '-b', 'main', path);
  plain('-C', path, 'commit', '-q', '--allow-empty', '-m', 'x');
  const { commit } = await readHead(git, await git.locate(path));
  expect(commit).toMatch(/^[0-9a-f]{64}$/);
});

test('the identity is what the configuration says, and no guess', async () => {
  const { git, place, plain } = makeRepository();
  const global = await readIdentity(git, place);
  plain('config', 'user.name', 'Löcal <x>');
  const local = await readIdentity(git, place);
  plain('config', '--global', '--unset', 'user.email');
  expect([global, local, await readIdentity(git, place)]).toEqual([
    { name: 'A User', email: 'user@example.invalid' },
    { name: 'Löcal <x>', email: 'user@example.invalid' },
    undefined,
  ]);
});

test('a merge, rebase, cherry-pick or revert under way is seen, and whose branch a rebase holds', async () => {
  const { place, checkout, plain, write, commit, env } = makeRepository();
  const first = plain('rev-parse', 'HEAD');
  write('a.txt', 'main\n');
  const main = commit('main');
  plain('checkout', '-q', '-b', 'side', first);
  write('a.txt', 'side\n');
  commit('side');
  const seen: unknown[] = [await operationUnderWay(place)];
  const inIt = async (begin: string[], abort: string[]) => {
    expect(fails('-C', checkout, '-c', 'user.name=x', '-c', 'user.email=x@x', ...begin)).toBe(true);
    seen.push([await operationUnderWay(place), await branchUnderRebase(place)]);
    execFileSync('git', ['-C', checkout, ...abort], { env, stdio: 'pipe' });
  };
  await inIt(['merge', 'main'], ['merge', '--abort']);
  await inIt(['rebase', 'main'], ['rebase', '--abort']);
  await inIt(['rebase', '--apply', 'main'], ['rebase', '--abort']);
  await inIt(['cherry-pick', main], ['cherry-pick', '--abort']);
  await inIt(['revert', main], ['revert', '--abort']);
  expect(seen).toEqual([
    undefined,
    ['merge', undefined],
    ['rebase', 'refs/heads/side'],
    ['rebase', 'refs/heads/side'],
    ['cherry-pick', undefined],
    ['revert', undefined],
  ]);
});
