import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { boxed, type CopyWorld, makeCopyWorld, WORKTREE } from '../../../test/support/git/agent-copy.ts';
import { writeFiles } from '../../../test/support/repository.ts';
import { until } from '../../../test/support/wait.ts';
import { codeOf } from '../../../test/support/worktrees/world.ts';
import type { Git } from '../git-command.ts';
import type { ImportPoint } from './private-gits.ts';

const commitOf = (name: string) => `echo ${name} > ${name}.txt; git add ${name}.txt; git commit -qm ${name}`;

/** What git finds wrong, and what the worktree shows as changed. */
function health({ plain, own }: CopyWorld) {
  return { fsck: plain('fsck', '--no-dangling', '--no-progress'), status: own('status', '--porcelain') };
}
const SOUND = { fsck: '', status: '' };

boxed('X-137').test(
  'what an agent commits is nowhere in the repository before it is brought over, and all of it after',
  async () => {
    const world = await makeCopyWorld();
    const { own, plain, gits, worktree, branch } = world;
    const before = [plain('rev-parse', branch), plain('count-objects', '-v')];
    const tip = await world.agent(`${commitOf('one')}; ${commitOf('two')}; git rev-parse HEAD`);
    expect([plain('rev-parse', branch), plain('count-objects', '-v')]).toEqual(before);
    expect(plain('fsck', '--no-dangling', '--no-progress')).toBe('');
    await gits.settle(worktree);
    expect([plain('rev-parse', branch), own('log', '--format=%s'), health(world)]).toEqual([
      tip,
      'two\none\nfirst',
      SOUND,
    ]);
    plain('gc', '-q', '--prune=now');
    expect([own('show', 'HEAD:one.txt'), health(world)]).toEqual(['one', SOUND]);
    await gits.settle(worktree); // the looks above may have written the times of files
    const again = readFileSync(join(world.copy, 'state.json'), 'utf8');
    await gits.settle(worktree);
    expect(readFileSync(join(world.copy, 'state.json'), 'utf8')).toBe(again);
    expect(await world.agent('git status --porcelain; git log --format=%s -1')).toBe('two');
    await gits.drop(worktree, WORKTREE); // its branch is packed: nothing else is in the folder
    expect([existsSync(world.copy), existsSync(join(world.checkout, '.git', branch, '..'))]).toEqual([false, false]);
  },
);

boxed('X-137').test(
  'amended, reset, staged, in conflict and on no branch: the worktree shows what the agent sees',
  async () => {
    const world = await makeCopyWorld();
    const { own, gits, worktree } = world;
    const see = 'git status --porcelain -b; git log --format=%s; git ls-files -s';
    const steps = [
      commitOf('one'),
      'git commit -q --amend -m other',
      'echo two > two.txt; echo three > three.txt; git add two.txt; git add -N three.txt; rm one.txt',
      'git reset -q --hard HEAD~1',
      `${commitOf('four')}; git checkout -q --detach; ${commitOf('five')}`,
      `git checkout -q ${world.branch.slice('refs/heads/'.length)}`,
      'echo 1 > a.txt; git stash list; git commit -qam mine; git cherry-pick --no-commit HEAD~1 || true',
    ];
    for (const step of steps) {
      const seen = await world.agent(`${step}; ${see}`);
      await gits.settle(worktree);
      expect([own('status', '--porcelain', '-b'), own('log', '--format=%s'), own('ls-files', '-s')].join('\n')).toBe(
        seen,
      );
      expect(world.plain('fsck', '--no-dangling', '--no-progress')).toBe('');
    }
  },
);

boxed('X-137').test(
  'a rebase that stopped half way refuses to be captured and goes on at the next launch',
  async () => {
    const world = await makeCopyWorld();
    const { plain, own, gits, worktree, branch } = world;
    await world.agent('echo agent > a.txt; git commit -qam agent');
    await gits.settle(worktree);
    const before = plain('rev-parse', branch);
    world.write('a.txt', 'user\n');
    world.commit('user');
    await world.agent('git rebase main 2>/dev/null && exit 1; test -d "$(git rev-parse --git-dir)/rebase-merge"');
    await expect(gits.settle(worktree)).rejects.toMatchObject({ code: 'repo_busy', details: { operation: 'rebase' } });
    expect(plain('rev-parse', branch)).toBe(before);
    world.reopen();
    await world.agent('echo both > a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue');
    await world.gits.settle(worktree);
    expect([own('log', '--format=%s'), own('show', 'HEAD:a.txt'), health(world)]).toEqual([
      'agent\nuser\nfirst',
      'both',
      SOUND,
    ]);
  },
);

boxed('X-137').test(
  'an agent stashes, picks and merges with conflicts, and nothing of it is left under way',
  async () => {
    const world = await makeCopyWorld();
    const { own, plain, gits, worktree } = world;
    world.write('mine', 'x');
    plain('stash', '-q', '-u');
    await world.agent(`echo 2 > a.txt; git stash -q; test -z "$(git status --porcelain)"; ${commitOf('one')}`);
    plain('pack-refs', '--all', '--prune');
    await world.agent('git pack-refs --all 2>/dev/null || true; git stash pop -q; git commit -qam two');
    world.write('a.txt', 'user\n');
    world.commit('user');
    await world.agent('git cherry-pick main 2>/dev/null && exit 1; echo 3 > a.txt; git commit -qam three');
    world.write('a.txt', 'more\n');
    world.commit('more');
    await world.agent(
      'git merge main 2>/dev/null && exit 1; echo 4 > a.txt; git commit -qam four; test -z "$(git stash list)"',
    );
    await gits.settle(worktree);
    expect([own('log', '--first-parent', '--format=%s'), own('show', 'HEAD:a.txt'), health(world)]).toEqual([
      'four\nthree\ntwo\none\nfirst',
      '4',
      SOUND,
    ]);
    expect(plain('stash', 'list')).toMatch(/^stash@\{0\}: WIP on main: .* first$/);
  },
);

boxed('X-137').test('where the repository has gone on, the agent finds it there', async () => {
  const world = await makeCopyWorld();
  const { own, gits, worktree } = world;
  await world.agent(commitOf('one'));
  await gits.settle(worktree);
  writeFiles(worktree.toplevel, { 'b.txt': 'b\n', 'c.txt': 'c\n' });
  own('add', 'b.txt');
  own('commit', '-qm', 'a person');
  own('add', 'c.txt');
  expect(await world.agent('git log --format=%s; git status --porcelain')).toBe('a person\none\nfirst\nA  c.txt');
  own('commit', '-qm', 'once more');
  await gits.settle(worktree); // also while a process of the agent is in its sandbox
  expect(await world.agent(`git status --porcelain; ${commitOf('two')}; git log --format=%s -2`)).toBe(
    'two\nonce more',
  );
  await gits.settle(worktree);
  expect([own('log', '--format=%s', '-2'), health(world)]).toEqual(['two\nonce more', SOUND]);
});

boxed('X-137').test(
  "where both have gone on nothing is moved, the agent's is on a ref, and a merge settles it",
  async () => {
    const world = await makeCopyWorld();
    const { own, plain, gits, worktree } = world;
    const tip = await world.agent(`${commitOf('agent')}; git rev-parse HEAD`);
    writeFiles(worktree.toplevel, { 'b.txt': 'b\n' });
    own('add', 'b.txt');
    own('commit', '-qm', 'a person');
    const ref = `refs/reef/apart/${WORKTREE}`;
    for (let left = 2; left > 0; left--)
      await expect(gits.settle(worktree)).rejects.toMatchObject({
        code: 'history_refused',
        details: { ref, commit: tip },
      });
    expect([own('log', '--format=%s'), plain('fsck', '--no-dangling', '--no-progress')]).toEqual([
      'a person\nfirst',
      '',
    ]);
    rmSync(join(worktree.toplevel, 'agent.txt')); // git does not overwrite it, and it is in the commit
    own('merge', '-q', '--no-edit', ref);
    await gits.settle(worktree);
    expect([plain('for-each-ref', 'refs/reef/apart'), health(world)]).toEqual(['', SOUND]);
    expect(await world.agent('git status --porcelain; cat agent.txt b.txt')).toBe('agent\nb');
  },
);

boxed('X-137').test('a daemon killed before git has checked what came over leaves nothing that git sees', async () => {
  const world = await makeCopyWorld();
  const { own, plain, worktree } = world;
  const tip = await world.agent(`${commitOf('one')}; git rev-parse HEAD`);
  const packs = () =>
    readdirSync(join(world.checkout, '.git', 'objects', 'pack')).filter((name) => name.endsWith('.pack'));
  const call: Git['call'] = (checkout, args, options) =>
    args[0] === 'index-pack' ? new Promise(() => {}) : world.git.call(checkout, args, options);
  void world.reopen({ git: { ...world.git, call } }).settle(worktree);
  await until('the pack is there', () => packs().length === 1);
  expect(plain('fsck', '--no-progress')).toBe('');
  expect(() => plain('cat-file', '-e', tip)).toThrow();
  await world.reopen().settle(worktree);
  expect([own('rev-parse', 'HEAD'), packs().length, health(world)]).toEqual([tip, 1, SOUND]);
});

for (const point of ['import.brought', 'import.moved', 'import.indexed'] satisfies ImportPoint[]) {
  boxed('X-137').test(`a daemon killed at ${point} loses nothing, and the next one repeats the import`, async () => {
    const world = await makeCopyWorld();
    const { own, worktree } = world;
    const tip = await world.agent(`${commitOf('one')}; echo two > two.txt; git add two.txt; git rev-parse HEAD`);
    const killed = world.reopen({
      at(here) {
        if (here === point) throw new Error('killed');
      },
    });
    await expect(killed.settle(worktree)).rejects.toThrow('killed');
    expect(world.plain('fsck', '--no-dangling', '--no-progress')).toBe('');
    await world.reopen().settle(worktree);
    expect([own('rev-parse', 'HEAD'), health(world)]).toEqual([tip, { ...SOUND, status: 'A  two.txt' }]);
    expect(await world.agent('git rev-parse HEAD; git status --porcelain')).toBe(`${tip}\nA  two.txt`);
  });
}

boxed('X-137').test('upkeep of both sides takes nothing from the other, also while the agent is at work', async () => {
  const world = await makeCopyWorld();
  const { plain, own, gits, worktree } = world;
  const lines = `${commitOf('one')}; git gc -q --auto; git -c gc.auto=1 gc -q --auto; git gc -q --prune=now 2>/dev/null || true; git prune`;
  await world.agent(lines);
  plain('gc', '-q', '--prune=now');
  plain('pack-refs', '--all', '--prune');
  const [waits, go] = [join(worktree.toplevel, 'waits'), join(worktree.toplevel, 'go')];
  const atWork = world.agent(`touch waits; until [ -e go ]; do sleep 0.05; done; rm waits go; ${commitOf('two')}`);
  await until('the agent is at work', () => existsSync(waits));
  plain('gc', '-q', '--prune=now');
  plain('pack-refs', '--all', '--prune');
  writeFileSync(go, '');
  await atWork;
  await gits.settle(worktree);
  expect([own('log', '--format=%s'), health(world)]).toEqual(['two\none\nfirst', SOUND]);
});

boxed('X-137').test('what an agent committed is saved where its worktree is gone', async () => {
  const world = await makeCopyWorld();
  const { plain, gits, worktree, place, branch } = world;
  const tip = await world.agent(`${commitOf('one')}; git rev-parse HEAD`);
  rmSync(worktree.toplevel, { recursive: true });
  await gits.rescue(place, WORKTREE);
  expect([plain('rev-parse', branch), plain('show', `${branch}:one.txt`), existsSync(world.copy)]).toEqual([
    tip,
    'one',
    false,
  ]);
});

boxed('X-137').test('more than may be brought over is refused, and stays with the agent', async () => {
  const world = await makeCopyWorld();
  await world.agent('head -c 100000 /dev/urandom > large; git add large; git commit -qm large');
  const before = world.plain('count-objects', '-v');
  const gits = world.reopen({ maxBytes: 50_000 });
  expect([await codeOf(gits.settle(world.worktree)), world.plain('count-objects', '-v')]).toEqual([
    'capture_too_large',
    before,
  ]);
});
