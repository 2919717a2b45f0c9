import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { codeOf, makeWorld, textOf, usersOwn, type World } from '../../../test/support/worktrees/world.ts';
import { run } from '../../process/run.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Gate, GateView } from '../../protocol/workflow.ts';
import type { ManagerOptions } from '../deps.ts';

const files = { 'a.txt': '1\n2\n3\n4\n5\n', 'b.txt': 'b\n', '.gitignore': '*.log\n.env\n' };
const UNJUDGED = ['lint', 'build', 'test'].map((gate) => `gate not run: ${gate}`);
const log = ({ plain }: World, ...args: string[]) => plain('log', '--format=%s|%an <%ae>|%cn', ...args).split('\n');

verifies('T-30', 'T-33').test('accept squashes all work, uncommitted too, into one commit of the user', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit, checkout, gitIn } = world;
  const base = plain('rev-parse', 'main');
  const work = await world.start('Do it', ['a.txt', 'new.txt']);
  edit(work, 'a.txt', '1\n2\nthree\n4\n5\n');
  gitIn(work.path, 'commit', '-qam', 'agent');
  edit(work, 'new.txt', 'new\n');
  edit(work, 'x.log', 'ignored');
  const done = await manager.accept(work.id);
  expect(done).toEqual({ status: 'merged', commit: plain('rev-parse', 'main'), noted: UNJUDGED });
  expect(log(world, '-1')).toEqual(['Do it|A User <user@example.invalid>|A User']);
  expect(plain('log', '-1', '--format=%P%n%b')).toBe(`${base}\nReef-Task: Do it\n`);
  expect([textOf(checkout, 'a.txt'), textOf(checkout, 'new.txt'), plain('status', '--porcelain')]).toEqual([
    '1\n2\nthree\n4\n5\n',
    'new\n',
    '',
  ]);
  expect([existsSync(work.path), plain('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/reef')]).toEqual([
    false,
    `refs/heads/main\nrefs/reef/archive/${work.id}`,
  ]);
  expect(plain('log', '--format=%s', `refs/reef/archive/${work.id}`).split('\n')).toEqual(['Do it', 'agent', 'first']);
  expect(await manager.accept(work.id)).toEqual({ status: 'merged', commit: done.commit, noted: [] });
  expect(plain('worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(1);
});

verifies('T-30').test('merge keeps both histories, and ff needs the target where it was', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit } = world;
  const [one, two, three] = [await world.start('one'), await world.start('two'), await world.start('three')];
  edit(one, 'b.txt', 'one\n');
  edit(two, 'a.txt', 'two\n2\n3\n4\n5\n');
  edit(three, 'c.txt', 'three\n');
  await manager.accept(one.id, { strategy: 'ff' });
  expect(log(world, '-1')).toEqual(['one|A User <user@example.invalid>|A User']);
  expect(await codeOf(manager.accept(two.id, { strategy: 'ff' }))).toBe('not_fast_forward');
  expect((await manager.view(two.id)).status).toBe('running');
  await manager.accept(two.id, { strategy: 'merge', message: 'merge two' });
  await manager.accept(three.id);
  expect(plain('log', '--graph', '--format=%s', 'main')).toBe(
    ['* three', '*   merge two', '|\\  ', '| * merge two', '* | one', '|/  ', '* first'].join('\n'),
  );
});

verifies('T-30').test('a job at work, a merge under way, or no identity refuses, and nothing has changed', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit, checkout, gitIn } = world;
  const work = await world.start('task');
  edit(work, 'b.txt', 'x\n');
  const before = [plain('rev-parse', 'main'), usersOwn(checkout), gitIn(work.path, 'status', '--porcelain')];
  const endJob = world.work(work.id);
  const codes = [await codeOf(manager.accept(work.id))];
  endJob();
  edit({ path: world.place.commonDir }, `worktrees/${work.id}/MERGE_HEAD`, `${work.base.commit}\n`);
  codes.push(await codeOf(manager.accept(work.id)));
  rmSync(join(world.place.commonDir, `worktrees/${work.id}/MERGE_HEAD`));
  world.write('../home/.gitconfig', '');
  codes.push(await codeOf(manager.accept(work.id)));
  codes.push(await codeOf(manager.accept(work.id, { into: 'absent' })), await codeOf(manager.accept('NOBODY')));
  expect(codes).toEqual(['worktree_busy', 'repo_busy', 'identity_missing', 'target_unknown', 'worktree_not_found']);
  expect([plain('rev-parse', 'main'), usersOwn(checkout), gitIn(work.path, 'status', '--porcelain')]).toEqual(before);
  expect((await manager.view(work.id)).status).toBe('running');
});

verifies('T-33').test('who names the files merges these and no others', async () => {
  const { manager, edit, plain, start } = await makeWorld(files);
  const work = await start('task');
  edit(work, 'b.txt', 'seen\n');
  const { tree = '' } = await manager.diff(work.id);
  edit(work, 'b.txt', 'changed since\n');
  const before = plain('rev-parse', 'main');
  await expect(manager.accept(work.id, { tree })).rejects.toMatchObject({ code: 'accept_stale' });
  expect([plain('rev-parse', 'main'), (await manager.view(work.id)).status]).toEqual([before, 'running']);
  edit(work, 'b.txt', 'seen\n');
  expect((await manager.accept(work.id, { tree })).status).toBe('merged');
  expect(plain('show', 'main:b.txt')).toBe('seen');
});

verifies('T-33', 'Q-52').test('a conflict names its files and changes nothing', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit, write, commit, checkout } = world;
  const work = await world.start('task');
  edit(work, 'b.txt', 'theirs\n');
  write('b.txt', 'ours\n');
  const tip = commit('ours');
  const before = usersOwn(checkout);
  await expect(manager.accept(work.id)).rejects.toMatchObject({
    code: 'merge_conflict',
    details: { files: ['b.txt'] },
  });
  expect([plain('rev-parse', 'main'), usersOwn(checkout), textOf(work.path, 'b.txt')]).toEqual([
    tip,
    before,
    'theirs\n',
  ]);
  expect((await manager.view(work.id)).status).toBe('running');
});

verifies('T-32', 'Q-52').test(
  'a dirty checkout of the target is not touched; the merge waits on its ref and completes when clean',
  async () => {
    const world = await makeWorld(files);
    const { manager, plain, edit, write, checkout, notices } = world;
    const work = await world.start('task');
    edit(work, 'b.txt', 'theirs\n');
    write('a.txt', 'mine\n');
    plain('add', 'a.txt');
    write('a.txt', 'mine, later\n');
    write('untracked', 'u');
    write('x.log', 'ignored');
    const before = [plain('rev-parse', 'main'), usersOwn(checkout)];
    const pending = await manager.accept(work.id);
    const ref = `refs/reef/accepted/${work.id}`;
    expect(pending).toEqual({
      status: 'pending',
      commit: plain('rev-parse', ref),
      ref,
      waiting: {
        code: 'target_dirty',
        checkout,
        files: ['a.txt'],
        command: `reef accept ${work.id} --when-clean`,
      },
      noted: UNJUDGED,
    });
    expect([plain('rev-parse', 'main'), usersOwn(checkout)]).toEqual(before);
    expect(await manager.view(work.id)).toMatchObject({ status: 'accepting', pending: { whenClean: false } });
    expect((await manager.accept(work.id, { whenClean: true })).status).toBe('pending');
    expect([plain('rev-parse', 'main'), usersOwn(checkout)]).toEqual(before);
    plain('commit', '-qam', 'mine');
    await until('the merge is complete', async () => (await manager.view(work.id)).status === 'accepted');
    expect([
      textOf(checkout, 'a.txt'),
      textOf(checkout, 'b.txt'),
      textOf(checkout, 'untracked'),
      textOf(checkout, 'x.log'),
    ]).toEqual(['mine, later\n', 'theirs\n', 'u', 'ignored']);
    expect(log(world, '--format=%s')).toEqual(['task', 'mine', 'first']);
    expect(notices.map(({ kind }) => kind)).toContain('merged');
  },
);

verifies('T-32').test('a merge that waits is not given up because a git of the user holds the index', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit, write, checkout, place } = world;
  const work = await world.start('task');
  edit(work, 'b.txt', 'theirs\n');
  write('a.txt', 'mine\n');
  await manager.accept(work.id, { whenClean: true });
  plain('commit', '-qam', 'mine');
  write('.git/index.lock', '');
  expect(await codeOf(manager.accept(work.id))).toBe('git_locked');
  const waiting = await manager.view(work.id);
  rmSync(join(place.commonDir, 'index.lock'));
  await until('the merge is complete', async () => (await manager.view(work.id)).status === 'accepted');
  expect([waiting.status, waiting.pending?.whenClean, textOf(checkout, 'b.txt')]).toEqual([
    'accepting',
    true,
    'theirs\n',
  ]);
});

verifies('T-32').test('an untracked or ignored file in the way is not overwritten', async () => {
  const world = await makeWorld(files);
  const { manager, edit, write, checkout, gitIn } = world;
  const work = await world.start('task');
  edit(work, 'new.txt', 'theirs\n');
  edit(work, '.env', 'theirs\n');
  gitIn(work.path, 'add', '-f', '.env', 'new.txt');
  gitIn(work.path, 'commit', '-qm', 'agent');
  write('.env', 'MY=secret\n');
  const before = usersOwn(checkout);
  const { waiting } = await manager.accept(work.id);
  expect([waiting?.files, textOf(checkout, '.env'), usersOwn(checkout)]).toEqual([['.env'], 'MY=secret\n', before]);
});

verifies('J-06').test('a worktree that brings nothing is told so, and no gate is asked about it', async () => {
  const world = await makeWorld(files);
  const work = await world.start('task');
  const before = world.plain('rev-parse', 'main');
  const noted = ['there was nothing to merge: the branch has all of it already'];
  expect(await world.manager.accept(work.id)).toEqual({ status: 'merged', commit: before, noted });
});

verifies('T-32').test('a target that is checked out nowhere moves by compare-and-set', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit, write, checkout } = world;
  plain('checkout', '-q', '-b', 'mine');
  write('dirty', 'x');
  const work = await world.start('task', [], { base: 'main' });
  edit(work, 'b.txt', 'x\n');
  const before = usersOwn(checkout);
  const { commit } = await manager.accept(work.id);
  const isMain = (line: string) => /^\.git\/(logs\/)?refs\/heads\/main/.test(line);
  expect([plain('rev-parse', 'main'), plain('show', 'main:b.txt')]).toEqual([commit, 'x']);
  expect(usersOwn(checkout).filter((line) => !isMain(line))).toEqual(before.filter((line) => !isMain(line)));
});

verifies('T-30', 'T-32').test('four accepts at once into one branch all arrive, one after the other', async () => {
  const world = await makeWorld(files, { settings: { leastMs: 600_000 } });
  const { manager, plain, edit } = world;
  const all = await Promise.all(Array.from({ length: 4 }, (_, n) => world.start(`task ${n}`, [`f${n}`])));
  for (const [n, work] of all.entries()) edit(work, `f${n}`, `${n}\n`);
  const done = await Promise.all(all.map(({ id }) => manager.accept(id)));
  expect(done.map(({ status }) => status)).toEqual(all.map(() => 'merged'));
  expect([plain('rev-list', '--count', 'main'), plain('ls-tree', '--name-only', 'main').split('\n').length]).toEqual([
    '5',
    7,
  ]);
});

verifies('T-33').test('a worktree that changed after the merge is left as it is, and its branch too', async () => {
  const world = await makeWorld(files);
  const { plain, edit } = world;
  let path = '';
  const manager = await world.reopen({
    at: (point) => (point === 'accept.advanced' ? edit({ path }, 'late', 'x') : undefined),
  });
  const work = await world.start('task');
  path = work.path;
  edit(work, 'b.txt', 'x\n');
  expect((await manager.accept(work.id)).status).toBe('merged');
  expect([textOf(path, 'late'), plain('show', 'main:b.txt'), plain('rev-parse', '--verify', work.branch)]).toEqual([
    'x',
    'x',
    work.base.commit,
  ]);
  expect((await manager.reconcile()).zombies).toEqual([{ path, worktreeId: work.id, why: 'no record uses it' }]);
});

/** A world whose worktrees are judged by these commands, which really run. */
function judgedWorld(commands: Partial<Record<Gate, string>>, more: Partial<ManagerOptions> = {}): Promise<World> {
  const entries = Object.entries(commands) as [Gate, string][];
  const gates = entries.map(([gate, script]) => ({
    gate,
    command: ['sh', '-c', script],
    key: gate,
    blocks: true,
    async run(cwd: string) {
      const env = { PATH: process.env.PATH ?? '' };
      const { code, stdout } = await run({ file: 'sh', args: ['-c', script], cwd, env, timeoutMs: 20_000 });
      return { passed: code === 0, log: stdout.toString('utf8') };
    },
  }));
  return makeWorld(files, { gatesOf: async () => gates, ...more });
}

/** A run of the worktree that has ended; the result stores its verdicts. */
function runIn({ store }: World, worktreeId: string) {
  const run = { id: `RUN-${worktreeId}`, worktreeId, state: 'over', doc: {} } as const;
  store.commit(() => store.runs.insert(run));
  return (gate: Gate, result: GateView['result'], tree: string) => {
    const verdict = { block: `Core__${gate}`, visit: 1, branch: 'main', gate, result, tree, key: gate };
    store.commit(() => store.verdicts.insert(run.id, [verdict]));
  };
}

verifies('T-31', 'J-30').test(
  'a gate that has not judged the very tree runs at accept, and again on the merged one when the target moved',
  async () => {
    const world = await judgedWorld({
      lint: 'echo lint >> "$PWD-judged"',
      test: 'echo "$(head -n 1 a.txt) $(cat b.txt)" >> "$PWD-judged"; echo said; test "$(cat b.txt)" = x',
    });
    const { manager, plain, edit, write, commit, gitIn } = world;
    const work = await world.start('task');
    const verdict = runIn(world, work.id);
    const judged = () => textOf(dirname(work.path), `scratch-${work.id}-judged`);
    edit(work, 'b.txt', 'y\n');
    await expect(manager.accept(work.id)).rejects.toMatchObject({
      code: 'gates_failed',
      message: expect.stringMatching(/^Not merged: test failed on these files\. .*reef accept/),
      details: { test: 'said' },
    });
    expect(judged()).toBe('lint\n1 y\n');
    const bad = await manager.diff(work.id);
    edit(work, 'b.txt', 'x\n');
    const stale = await manager.diff(work.id);
    const last = { lint: 'passed', test: 'failed' };
    const standing = (results: Record<string, string>, tree: string | undefined) => [
      ...Object.entries(results).map(([gate, result]) => ({ gate, result, tree })),
      { gate: 'build', result: 'not_configured' },
    ];
    // Said of the files as they were: no gate has run since.
    expect([bad.gates, stale.gates]).toEqual([standing(last, bad.tree), standing(last, bad.tree)]);
    expect(stale.tree).not.toBe(bad.tree);
    gitIn(work.path, 'commit', '-qam', 'agent');
    verdict('lint', 'passed', gitIn(work.path, 'rev-parse', 'HEAD^{tree}'));
    const seen = await manager.gates(work.id);
    expect(seen.gates).toEqual([
      { gate: 'lint', result: 'passed', reused: true },
      { gate: 'test', result: 'passed' },
      { gate: 'build', result: 'not_configured' },
    ]);
    const again = seen.gates.map((gate) => (gate.result === 'passed' ? { ...gate, reused: true } : gate));
    expect([(await manager.gates(work.id)).gates, judged()]).toEqual([again, 'lint\n1 y\n1 x\n']);
    expect((await manager.diff(work.id)).gates).toEqual(standing({ lint: 'passed', test: 'passed' }, stale.tree));
    write('a.txt', 'moved\n2\n3\n4\n5\n');
    commit('moved');
    const done = await manager.accept(work.id);
    expect([done.noted, judged(), plain('show', 'main:b.txt')]).toEqual([
      ['gate not run: build'],
      'lint\n1 y\n1 x\nlint\nmoved x\n',
      'x',
    ]);
    expect(plain('worktree', 'list', '--porcelain').match(/^worktree/gm)).toHaveLength(1);
  },
);

verifies('J-30').test('gates run in a checkout that was set up, and a set-up that fails is named', async () => {
  const setup = ['sh', '-c', 'echo "$REEF_PORT_BASE" > ready; test ! -e "$REEF_ROOT/no"'];
  const scripts = async () => ({ setup });
  const world = await judgedWorld(
    { test: 'cat ready .env && test -s ready' },
    { items: { scripts, include: async () => '.env\n' } },
  );
  const { manager, edit, write } = world;
  write('.env', 'KEY=1\n');
  const work = await world.start('task');
  edit(work, '.gitignore', '*.log\n.env\nready\n');
  write('no', '');
  await expect(manager.accept(work.id)).rejects.toMatchObject({
    code: 'gates_not_set_up',
    message: expect.stringContaining('ended with 1'),
  });
  rmSync(join(world.checkout, 'no'));
  expect((await manager.accept(work.id)).status).toBe('merged');
});

verifies('J-30').test(
  'where the repository is not trusted a worktree is merged unjudged, and that is said',
  async () => {
    const world = await makeWorld(files, {
      gatesOf: () => Promise.reject(new ReefError('repo_untrusted', 'not yet')),
    });
    const work = await world.start('task');
    world.edit(work, 'b.txt', 'x\n');
    expect(await codeOf(world.manager.gates(work.id))).toBe('repo_untrusted');
    expect(await world.manager.diff(work.id)).not.toHaveProperty('gates');
    expect((await world.manager.accept(work.id)).noted).toEqual([expect.stringContaining('not trusted')]);
  },
);

verifies('T-31', 'T-16').test('waived gates, drift and edits to what judges are listed and need consent', async () => {
  const world = await judgedWorld({ lint: 'exit 1', build: 'exit 1', test: 'exit 1' });
  const { manager, edit, gitIn, write, commit } = world;
  write('package.json', '{"name":"x","scripts":{"test":"vitest"}}');
  write('sub/package.json', '{"version":"1"}');
  commit('manifests');
  const work = await world.start('task', [
    'b.txt',
    'package.json',
    '.github/**',
    '**/package.json',
    'vitest.config.ts',
  ]);
  edit(work, 'b.txt', 'x\n');
  edit(work, 'other.txt', 'x\n');
  edit(work, 'package.json', '{"name":"x","scripts":{"test":"true"}}');
  edit(work, 'sub/package.json', '{"version":"2"}');
  edit(work, '.github/workflows/ci.yml', 'on: push\n');
  edit(work, 'vitest.config.ts', 'x\n');
  gitIn(work.path, 'add', '-A');
  gitIn(work.path, 'commit', '-qm', 'agent');
  const tree = gitIn(work.path, 'rev-parse', 'HEAD^{tree}');
  const verdict = runIn(world, work.id);
  for (const gate of ['lint', 'build'] as const) verdict(gate, 'passed', tree);
  verdict('test', 'failed', tree);
  verdict('test', 'waived', tree);
  const details = {
    waived: ['gate waived: test'],
    drift: ['not planned: other.txt'],
    gateFiles: ['.github/workflows/ci.yml', 'package.json', 'vitest.config.ts'].map(
      (path) => `edits what judges or executes: ${path}`,
    ),
  };
  await expect(manager.accept(work.id)).rejects.toMatchObject({ code: 'accept_needs_consent', details });
  expect((await manager.accept(work.id, { yes: true })).noted).toEqual(Object.values(details).flat());
});

verifies('T-30').test('a worktree made from a commit is accepted into the branch that is named', async () => {
  const world = await makeWorld(files);
  const { manager, plain, edit } = world;
  const work = await world.start('task', [], { base: plain('rev-parse', 'main') });
  edit(work, 'b.txt', 'x\n');
  expect([work.base.branch, await codeOf(manager.accept(work.id))]).toEqual(['', 'target_unknown']);
  expect((await manager.accept(work.id, { into: 'main' })).status).toBe('merged');
});
