import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { boxed } from '../../test/support/git/agent-copy.ts';
import { openCopies } from '../../test/support/git/copies.ts';
import { codeOf, makeWorld, textOf, type World } from '../../test/support/worktrees/world.ts';
import { systemClock } from '../base/clock.ts';
import type { WorktreeRecord } from '../protocol/worktrees.ts';
import { createRunCaptures } from './run-captures.ts';

/** Each operation on a worktree begins with what its agent committed in a copy of git's data, and ends with the agent seeing it. */

const COMMIT = 'echo agent > agent.txt; git add agent.txt; git commit -qm agent; echo open > open.txt';

async function makeAgentWorld() {
  let copies: ReturnType<typeof openCopies> | undefined;
  const world = await makeWorld({ 'a.txt': 'one\n' });
  copies = openCopies(world);
  const gits = copies.open();
  await world.reopen({ copies: gits });
  const work = await world.start('task');
  const act = async (script: string, path = work.path) => copies.act(gits, await world.git.locate(path), script);
  await act(COMMIT);
  return { ...world, manager: world.manager, gits, work, act, folder: copies.folder };
}

type AgentWorld = Omit<World, 'work'> & { work: WorktreeRecord & { path: string } };
const logOf = ({ gitIn, work }: AgentWorld) => gitIn(work.path, 'log', '--format=%s');

boxed('X-137').test('a capture of a run, the radar and a diff see what an agent committed', async () => {
  const world = await makeAgentWorld();
  const { manager, git, gits, work, plain } = world;
  const captures = createRunCaptures({ git, clock: systemClock, copies: gits });
  const { commit } = await captures.checkpoint(work.path, 'refs/reef/x', 'x');
  expect([logOf(world), plain('log', '--format=%s', commit)]).toEqual(['agent\nfirst', 'x\nagent\nfirst']);
  const { files } = await manager.diff(work.id);
  expect(files.map(({ path }) => path).sort()).toEqual(['agent.txt', 'open.txt']);
  await world.act('git commit -q --allow-empty -m more');
  await manager.scan([]);
  expect(logOf(world)).toBe('more\nagent\nfirst');
});

boxed('X-137').test('an update merges what an agent committed, and the agent goes on from there', async () => {
  const world = await makeAgentWorld();
  const { manager, work, act } = world;
  world.write('b.txt', 'b\n');
  world.commit('target');
  expect((await manager.update(work.id)).status).toBe('updated');
  // A process of the agent that is at rest finds it there.
  const tip = readFileSync(join(world.folder, work.id, 'branch', 'tip'), 'utf8');
  expect(tip).toBe(`${world.plain('rev-parse', work.branch)}\n`);
  expect(await act('git log --first-parent --format=%s; git status --porcelain; cat b.txt')).toBe(
    'Bring main in\ntask\nagent\nfirst\nb',
  );
  await act('git commit -q --allow-empty -m after');
  await manager.accept(work.id, { strategy: 'merge' });
  const log = world.plain('log', '--format=%s', 'main').split('\n');
  expect([log.includes('after'), log.includes('agent'), world.plain('fsck', '--no-dangling', '--no-progress')]).toEqual(
    [true, true, ''],
  );
  expect(existsSync(join(world.folder, work.id))).toBe(false);
});

boxed('X-137').test(
  'a fork begins with what an agent committed, and its merge back leaves the agent in peace',
  async () => {
    const world = await makeAgentWorld();
    const { manager, work, act } = world;
    const branch = await manager.branchOff('fork', { id: work.id });
    expect(world.gitIn(branch.path, 'log', '--format=%s').split('\n').slice(-2)).toEqual(['agent', 'first']);
    await act('echo fork > fork.txt; git add fork.txt; git commit -qm fork', branch.path);
    expect((await manager.mergeBack(branch, work)).conflicts).toEqual([]);
    expect([textOf(work.path, 'fork.txt'), existsSync(join(world.folder, branch.id))]).toEqual(['fork\n', false]);
    expect(await act('git status --porcelain; git log --format=%s')).toBe('?? fork.txt\n?? open.txt\nagent\nfirst');
  },
);

for (const verb of ['hold', 'discard'] as const) {
  boxed('X-137').test(`${verb} keeps what an agent committed and staged, and it comes back`, async () => {
    const world = await makeAgentWorld();
    const { manager, work, act } = world;
    await act('git add open.txt');
    await manager[verb](work.id);
    expect(existsSync(join(world.folder, work.id))).toBe(false);
    const again = await manager.reinflate(work.id);
    const see = 'git status --porcelain; git log --format=%s';
    expect(await act(see, again.path ?? '')).toBe('A  open.txt\nagent\nfirst');
  });
}

boxed('X-137').test('work that an agent commits while it is put aside is not removed', async () => {
  const world = await makeAgentWorld();
  const { work, act, gits } = world;
  const manager = await world.reopen({
    copies: gits,
    at: async (point) => void (point === 'remove.begun' && (await act('git commit -q --allow-empty -m late'))),
  });
  expect([await codeOf(manager.hold(work.id)), (await manager.view(work.id)).status, logOf(world)]).toEqual([
    'worktree_busy',
    'running',
    'late\nagent\nfirst',
  ]);
});

boxed('X-137').test(
  'a rebase that stopped half way is shown as at work, and nothing is merged or put aside',
  async () => {
    const world = await makeAgentWorld();
    const { manager, work, act } = world;
    await act('echo agent > a.txt; git commit -qam a');
    world.write('a.txt', 'user\n');
    world.commit('user');
    await act('git rebase main 2>/dev/null && exit 1; true');
    const codes = [];
    for (const act of ['accept', 'update', 'hold', 'discard'] as const) codes.push(await codeOf(manager[act](work.id)));
    expect([codes, (await manager.view(work.id)).health]).toEqual([Array(4).fill('repo_busy'), 'AMBER']);
    await act('git rebase --abort');
    expect((await manager.hold(work.id)).ref).toBe(`refs/reef/held/${work.id}`);
  },
);

boxed('X-137').test('a worktree whose folder is gone comes back with what its agent committed', async () => {
  const world = await makeAgentWorld();
  const { manager, work } = world;
  rmSync(work.path, { recursive: true });
  await manager.reconcile();
  expect((await manager.view(work.id)).status).toBe('lost');
  const again = await manager.reinflate(work.id);
  expect([textOf(again.path ?? '', 'agent.txt'), logOf(world)]).toEqual(['agent\n', 'agent\nfirst']);
});
