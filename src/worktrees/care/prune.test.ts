import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { makeWorld, usersOwn } from '../../../test/support/worktrees/world.ts';
import { systemClock } from '../../base/clock.ts';

verifies('T-47', 'Q-52').test('prune shows first, removes on demand, and never removes work', async () => {
  const world = await makeWorld({ 'a.txt': 'a\n' });
  const { plain, root, checkout, gitIn } = world;
  world.write('mine', 'x');
  const [live, held] = [await world.start('live', ['1']), await world.start('held', ['2'])];
  await world.manager.hold(held.id);
  const folder = join(live.path, '..');
  for (const name of ['clean', 'dirty', 'ahead', 'merged']) {
    plain('worktree', 'add', '-q', '--lock', join(folder, name), '-b', `z-${name}`);
  }
  writeFileSync(join(folder, 'dirty', 'work'), 'x');
  writeFileSync(join(folder, 'ahead', 'work'), 'ahead');
  gitIn(join(folder, 'ahead'), 'add', '-A');
  gitIn(join(folder, 'ahead'), 'commit', '-qm', 'ahead');
  writeFileSync(join(folder, 'merged', 'same'), 'same');
  gitIn(join(folder, 'merged'), 'add', '-A');
  gitIn(join(folder, 'merged'), 'commit', '-qm', 'theirs');
  world.write('same', 'same');
  plain('add', 'same');
  plain('commit', '-qm', 'ours');
  plain('worktree', 'add', '-q', join(root, 'foreign'), '-b', 'foreign');
  const own = usersOwn(checkout);
  const shown = await world.manager.prune({});
  const outcome = (entries: typeof shown.entries) =>
    Object.fromEntries(entries.map(({ target, outcome, refusal }) => [target, [outcome, refusal?.why]]));
  const refusals = {
    [live.path]: ['refused', `nobody has merged or discarded it: reef accept ${live.id}, reef discard ${live.id}`],
    [`refs/reef/held/${held.id}`]: ['refused', 'it is held'],
    [join(folder, 'ahead')]: ['refused', 'it has commits that are not merged'],
    [join(folder, 'dirty')]: ['refused', 'it has changes that are not committed, in 1 file'],
  };
  expect(outcome(shown.entries)).toEqual({
    ...refusals,
    [join(folder, 'clean')]: ['would_remove', undefined],
    [join(folder, 'merged')]: ['would_remove', undefined],
  });
  expect(shown.entries.filter(({ kind }) => kind === 'worktree').every(({ bytes }) => bytes > 0)).toBe(true);
  expect(existsSync(join(folder, 'clean'))).toBe(true);
  expect(outcome((await world.manager.prune({ yes: true })).entries)).toEqual({
    ...refusals,
    [join(folder, 'clean')]: ['removed', undefined],
    [join(folder, 'merged')]: ['removed', undefined],
  });
  const left = ['ahead', 'clean', 'dirty', 'merged'].map((name) => existsSync(join(folder, name)));
  expect([left, existsSync(join(root, 'foreign')), usersOwn(checkout)]).toEqual([
    [true, false, true, false],
    true,
    own,
  ]);
});

verifies('T-34', 'T-47').test('work that was discarded is kept for thirty days', async () => {
  const world = await makeWorld();
  const work = await world.start('task');
  world.edit(work, 'a.txt', 'x\n');
  const { ref } = await world.manager.discard(work.id);
  const later = (days: number) => ({ ...systemClock, now: () => new Date(Date.now() + days * 24 * 3_600_000) });
  const early = await (await world.reopen({ clock: later(29) })).prune({ yes: true });
  const manager = await world.reopen({ clock: later(31) });
  const [shown, done] = [await manager.prune({}), await manager.prune({ yes: true })];
  const brief = ({ entries }: typeof early) => entries.map(({ kind, target, outcome }) => [kind, target, outcome]);
  expect([brief(early), brief(shown), brief(done)]).toEqual([
    [],
    [['ref', ref, 'would_remove']],
    [['ref', ref, 'removed']],
  ]);
  expect(world.plain('for-each-ref', 'refs/reef')).toBe('');
});

verifies('Q-111').test(
  'a merged worktree in which a process stands is listed with it, and goes when that has ended',
  async () => {
    const world = await makeWorld({ 'a.txt': 'a\n' });
    const { id, path } = await world.start('merged', ['a.txt']);
    writeFileSync(join(path, 'a.txt'), 'b\n');
    const stands = spawn('/bin/sleep', ['600'], { cwd: path, stdio: 'ignore' });
    await once(stands, 'spawn');
    await world.manager.accept(id, {});
    const why = `processes work in it: ${stands.pid}`;
    await world.manager.retryLeftovers();
    const { entries } = await world.manager.prune({});
    expect(entries.filter(({ target }) => target === path)).toMatchObject([{ outcome: 'refused', refusal: { why } }]);
    expect(existsSync(path)).toBe(true);

    stands.kill('SIGKILL');
    await once(stands, 'exit');
    await world.manager.retryLeftovers();
    expect([existsSync(path), (await world.manager.prune({})).entries]).toEqual([false, []]);
    expect(world.plain('show', 'HEAD:a.txt')).toBe('b');
  },
);
