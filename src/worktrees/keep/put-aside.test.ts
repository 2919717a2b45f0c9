import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { codeOf, makeWorld, textOf, usersOwn, type World } from '../../../test/support/worktrees/world.ts';
import { identify } from '../../process/identity.ts';

const files = {
  '.gitignore': '*.log\n',
  edited: '1\n',
  staged: '2\n',
  both: '3\n',
  gone: '4\n',
  'dir/x': '5\n',
  mode: '7\n',
};

/** Every kind of change an agent may leave behind. */
function mess({ edit, gitIn }: World, work: { path: string }): void {
  edit(work, 'committed', 'c\n');
  gitIn(work.path, 'add', '-A');
  gitIn(work.path, 'commit', '-qm', 'agent');
  edit(work, 'staged', 'staged\n');
  edit(work, 'both', 'first\n');
  gitIn(work.path, 'add', 'staged', 'both');
  edit(work, 'both', 'second\n');
  edit(work, 'edited', 'edited\n');
  rmSync(join(work.path, 'gone'));
  rmSync(join(work.path, 'dir'), { recursive: true });
  edit(work, 'dir', 'a file in the place of a folder\n');
  chmodSync(join(work.path, 'mode'), 0o755);
  symlinkSync('edited', join(work.path, 'link'));
  edit(work, 'new/deep', 'untracked\n');
  edit(work, 'x.log', 'ignored\n');
}

function state({ gitIn }: World, path: string) {
  return {
    status: gitIn(path, 'status', '--porcelain=v1', '-uall'),
    log: gitIn(path, 'log', '--format=%s'),
    staged: gitIn(path, 'diff', '--cached'),
    files: gitIn(path, 'diff'),
    untracked: [textOf(path, 'new/deep'), readlinkSync(join(path, 'link')), textOf(path, 'dir')],
    mode: statSync(join(path, 'mode')).mode & 0o111,
    branch: gitIn(path, 'symbolic-ref', '--short', 'HEAD'),
  };
}

verifies('T-34', 'Q-52').test(
  'discard keeps the work first, names what it cannot keep, and restore brings it back',
  async () => {
    const world = await makeWorld(files);
    const { manager, plain, checkout } = world;
    world.write('mine', 'x');
    const [work, other] = [await world.start('task', ['a']), await world.start('other', ['b'])];
    mess(world, work);
    const [before, own] = [state(world, work.path), usersOwn(checkout)];
    const endJob = world.work(work.id);
    world.work(other.id);
    expect(await codeOf(manager.discard(work.id))).toBe('worktree_busy');
    endJob();
    const ref = `refs/reef/discarded/${work.id}`;
    expect(await manager.discard(work.id)).toEqual({
      ref,
      command: `reef worktree restore ${ref}`,
      ignored: ['x.log'],
    });
    expect([existsSync(work.path), existsSync(other.path)]).toEqual([false, true]);
    expect(plain('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/reef').split('\n')).toEqual([
      'refs/heads/main',
      `refs/heads/${other.branch}`,
      ref,
    ]);
    expect(await manager.discard(work.id)).toEqual({ ref, command: `reef worktree restore ${ref}`, ignored: [] });
    expect((await manager.restore(ref)).status).toBe('running');
    expect([state(world, work.path), usersOwn(checkout)]).toEqual([before, own]);
    expect(existsSync(join(work.path, 'x.log'))).toBe(false);
  },
);

verifies('T-34').test('a ref is enough to restore from: the database need not know it', async () => {
  const world = await makeWorld(files);
  const work = await world.start('task', ['edited']);
  mess(world, work);
  const before = state(world, work.path);
  const { ref } = await world.manager.discard(work.id);
  const { Store } = await import('../../store/store.ts');
  const store = new Store(join(world.root, 'new.db'));
  onTestFinished(() => store.close());
  const manager = await world.reopen({ store });
  const restored = await manager.restore(ref);
  expect([restored.id, restored.taskId, restored.changePlan, state(world, restored.path ?? '')]).toEqual([
    work.id,
    'task',
    [{ path: 'edited', origin: 'declared' }],
    before,
  ]);
  expect([
    await codeOf(manager.restore('refs/reef/discarded/x')),
    await codeOf(manager.restore('refs/heads/main')),
  ]).toEqual(['kept_not_found', 'kept_not_found']);
});

verifies('T-34', 'T-42', 'Q-53').test('a foreign process inside refuses, and lives', async () => {
  const world = await makeWorld(files);
  const { manager } = world;
  const work = await world.start('task');
  const child = spawn('sleep', ['60'], { cwd: join(work.path, 'dir'), stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  await expect(manager.discard(work.id)).rejects.toMatchObject({
    code: 'worktree_in_use',
    details: { pids: [child.pid] },
  });
  expect([await codeOf(manager.hold(work.id)), identify(child.pid ?? 0)?.pid, existsSync(work.path)]).toEqual([
    'worktree_in_use',
    child.pid,
    true,
  ]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await codeOf(manager.discard(work.id))).toBe('done');
});

verifies('T-35', 'Q-52').test(
  'hold keeps bytes, modes, staging and session; re-inflate restores them, branch or no branch',
  async () => {
    const session = { currentBlockId: 'Core__Run', returnStack: ['a'], executionPayload: [], sessionStats: { n: 1 } };
    const world = await makeWorld(files);
    const { manager, plain, checkout } = world;
    world.write('mine', 'x');
    const work = await world.start('task');
    mess(world, work);
    const [before, own] = [state(world, work.path), usersOwn(checkout)];
    const endJob = world.work(work.id);
    expect(await codeOf(manager.hold(work.id))).toBe('worktree_busy');
    endJob();
    const { ref } = await manager.hold(work.id, session);
    expect([ref, existsSync(work.path), plain('log', '--format=%s', work.branch)]).toEqual([
      `refs/reef/held/${work.id}`,
      false,
      'agent\nfirst',
    ]);
    expect(JSON.parse(plain('show', `${ref}^3:session.json`))).toEqual(session);
    expect(await manager.view(work.id)).toMatchObject({ status: 'held', path: null, health: null, ref });
    expect(usersOwn(checkout)).toEqual(own);
    plain('update-ref', '-d', `refs/heads/${work.branch}`);
    const again = await manager.reinflate(work.id);
    expect([again, state(world, work.path)]).toEqual([work, before]);
  },
);

verifies('T-35').test('a branch the user moved meanwhile stays theirs', async () => {
  const world = await makeWorld(files);
  const { manager, plain } = world;
  const work = await world.start('task');
  mess(world, work);
  await manager.hold(work.id);
  plain('branch', '-f', work.branch, 'main');
  const again = await manager.reinflate(work.id);
  expect([
    plain('rev-parse', work.branch),
    again.branch === work.branch,
    plain('log', '--format=%s', again.branch),
  ]).toEqual([plain('rev-parse', 'main'), false, 'agent\nfirst']);
});

verifies('T-34').test('work that changes while it is put aside is not removed', async () => {
  const world = await makeWorld(files);
  let path = '';
  let n = 0;
  const manager = await world.reopen({
    at: (point) => (point === 'keep.kept' ? world.edit({ path }, 'busy', `${n++}`) : undefined),
  });
  const work = await world.start('task');
  path = work.path;
  expect([await codeOf(manager.discard(work.id)), textOf(path, 'busy'), (await manager.view(work.id)).status]).toEqual([
    'worktree_busy',
    '2',
    'running',
  ]);
});

verifies('T-34').test('what was changed after it was kept is left, and runs on', async () => {
  const world = await makeWorld(files);
  let path = '';
  const manager = await world.reopen({
    at: (point) => (point === 'remove.begun' ? world.edit({ path }, 'late', 'x') : undefined),
  });
  const work = await world.start('task');
  path = work.path;
  expect([await codeOf(manager.hold(work.id)), textOf(path, 'late'), (await manager.view(work.id)).status]).toEqual([
    'worktree_busy',
    'x',
    'running',
  ]);
  expect(world.notices).toMatchObject([{ kind: 'left_over', worktreeId: work.id }]);
});

verifies('T-34', 'T-35').test(
  'held and lost worktrees can be discarded too, and come back with all they had',
  async () => {
    const world = await makeWorld(files);
    const { manager, plain } = world;
    const [held, lost] = [await world.start('held', ['1']), await world.start('lost', ['2'])];
    mess(world, held);
    world.edit(lost, 'new', 'x\n');
    const before = state(world, held.path);
    await manager.hold(held.id);
    await manager.scan([]);
    rmSync(lost.path, { recursive: true });
    await manager.reconcile();
    const kept = [await manager.discard(held.id), await manager.discard(lost.id.toLowerCase())];
    expect(kept.map(({ ref }) => ref)).toEqual([`refs/reef/discarded/${held.id}`, `refs/reef/discarded/${lost.id}`]);
    expect([
      await manager.list(),
      plain('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/reef').split('\n'),
    ]).toEqual([[], ['refs/heads/main', ...kept.map(({ ref }) => ref)]]);
    expect(plain('worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(1);
    await manager.restore(kept[0]?.ref ?? '');
    const again = await manager.restore(lost.id);
    expect([state(world, held.path), textOf(again.path ?? '', 'new')]).toEqual([before, 'x\n']);
    const { id } = await manager.submit({ taskId: 'waits', plan: ['1'] });
    expect([await manager.discard(id), (await manager.view(id)).status]).toEqual([
      { ref: '', command: '', ignored: [] },
      'discarded',
    ]);
  },
);

verifies('X-32').test(
  'a worktree whose .git was bent elsewhere is neither captured nor removed nor merged',
  async () => {
    const world = await makeWorld(files);
    const { manager, plain, root } = world;
    const [work, other] = [await world.start('task', ['1']), await world.start('other', ['2'])];
    plain('clone', '-q', '.', join(root, 'elsewhere'));
    const bends = [`gitdir: ${join(root, 'elsewhere', '.git')}\n`, textOf(other.path, '.git') ?? ''];
    const own = textOf(work.path, '.git') ?? '';
    const codes: unknown[] = [];
    for (const bent of bends) {
      world.edit(work, '.git', bent);
      for (const verb of ['discard', 'hold', 'accept', 'diff'] as const)
        codes.push(await codeOf(manager[verb](work.id)));
    }
    world.edit(work, '.git', own);
    expect([codes, (await manager.view(work.id)).health]).toEqual([Array(8).fill('git_redirected'), 'GREEN']);
  },
);
