import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { makeWorld, textOf, usersOwn, type World } from '../../test/support/worktrees/world.ts';
import type { Point } from './deps.ts';
import type { GitWorktreeManager } from './manager.ts';

const create: Point[] = ['create.claimed', 'create.added', 'create.made', 'create.set_up'];
const keep: Point[] = ['keep.begun', 'keep.captured', 'keep.kept'];
const remove: Point[] = ['remove.moved', 'remove.forgotten', 'remove.deleted'];
const accept: Point[] = [
  'accept.begun',
  'accept.committed',
  'accept.recorded',
  'accept.archived',
  'accept.advanced',
  'accept.ended',
];
const verbs = {
  create,
  accept: [...accept, ...remove],
  hold: [...keep, 'remove.begun', ...remove],
  discard: [...keep, 'remove.begun', ...remove],
  reinflate: create,
} satisfies Record<string, Point[]>;
type Verb = keyof typeof verbs;

/** The radar would look after every accept; here it is not the matter. */
const quiet = { settings: { leastMs: 600_000 } };

/** A checkout on a branch of its own with every kind of work of the user's in it. */
function occupy({ plain, write }: World): void {
  plain('checkout', '-q', '-b', 'mine');
  write('stashed', 'x');
  plain('stash', '-q', '-u');
  write('tracked', 'edited\n');
  write('untracked', 'u\n');
  write('x.log', 'ignored\n');
  write('staged', 'staged\n');
  plain('add', 'staged');
}

const notMain = (line: string) => !/refs\/heads\/main/.test(line);
const own = ({ checkout }: World) => usersOwn(checkout).filter(notMain);

/** A manager that stops for ever at a point, as if its process had been ended there. */
async function stopped(
  world: World,
  point: Point,
  work: (manager: GitWorktreeManager) => Promise<unknown>,
): Promise<void> {
  let isReached = false;
  const manager = await world.reopen({
    at: (here) => {
      if (here !== point) return undefined;
      isReached = true;
      return new Promise<void>(() => {});
    },
  });
  const end = work(manager).then(
    () => 'it came to its end',
    (error: unknown) => error,
  );
  await Promise.race([until(`${point} is reached`, () => isReached), end.then((why) => Promise.reject(why))]);
}

/** Brings a task to where a verb can be tried on it. */
async function prepare(world: World, taskId: string, verb: Verb): Promise<void> {
  if (verb === 'create') return;
  await world.reopen();
  const record = await world.start(taskId, [taskId], { base: 'main' });
  world.edit(record, taskId, `${taskId}\n`);
  if (verb === 'reinflate') await world.manager.hold(record.id);
}

async function idOf(manager: GitWorktreeManager, taskId: string): Promise<string> {
  return (await manager.list({ all: true })).find((view) => view.taskId === taskId)?.id ?? '';
}

const doIt = (taskId: string, verb: Verb) => async (manager: GitWorktreeManager) => {
  if (verb !== 'create') return manager[verb](await idOf(manager, taskId));
  const { id } = await manager.submit({ taskId, plan: [taskId], base: 'main' });
  return manager.whenReady(id);
};

/** The end every task comes to, whatever happened on the way: its file in main, and nothing else left of it. */
async function finish({ manager, edit, plain }: World, taskId: string): Promise<string> {
  const id = await idOf(manager, taskId);
  const { status, path } = await manager.view(id);
  if (status === 'held' || status === 'discarded') await manager.reinflate(id);
  if (status === 'running' && !existsSync(join(path ?? '', taskId))) edit({ path }, taskId, `${taskId}\n`);
  if (status !== 'accepted') await manager.accept(id);
  return plain('show', `main:${taskId}`);
}

const cases = (Object.keys(verbs) as Verb[]).flatMap((verb) => verbs[verb].map((point) => [verb, point] as const));
const every = scale('Q-50', { test: 2, faults: 1, soak: 1 });

for (const verb of Object.keys(verbs) as Verb[]) {
  verifies('Q-50', 'Q-52', 'T-43').test(`${verb}, killed at any point, is completed or taken back`, async () => {
    const world = await makeWorld({ tracked: 't\n', '.gitignore': '*.log\n' }, quiet);
    occupy(world);
    const before = own(world);
    // Every other one in the short tier.
    const points = cases.filter(([each], index) => each === verb && index % every === 0).map(([, point]) => point);
    for (const [n, point] of points.entries()) {
      const taskId = `${verb}-${n}`;
      await prepare(world, taskId, verb);
      await stopped(world, point, doIt(taskId, verb));
      await world.reopen();
      const report = await world.manager.reconcile();
      expect({ point, zombies: report.zombies, ghosts: report.ghosts }).toEqual({ point, zombies: [], ghosts: [] });
      expect({ point, said: await finish(world, taskId) }).toEqual({ point, said: taskId });
      expect(own(world)).toEqual(before);
    }
    const refs = world.plain('for-each-ref', '--format=%(refname)', 'refs/heads/reef', 'refs/reef').split('\n');
    expect(refs.filter((ref) => !/^refs\/reef\/(archive|discarded)\//.test(ref))).toEqual([]);
    expect([
      points.length > 0,
      world.plain('fsck', '--no-dangling'),
      world.plain('rev-list', '--count', 'main'),
    ]).toEqual([true, '', `${points.length + 1}`]);
  });
}

const DRIVER = join(import.meta.dirname, '../../test/support/worktrees/driver.ts');
const KILLS = scale('Q-50', { test: 4, faults: 40, soak: 200 });
const AT_ONCE = scale('Q-50', { test: 3, faults: 16, soak: 16 });

verifies('Q-50', 'Q-52').test(
  `${KILLS} times SIGKILL with ${AT_ONCE} worktrees under way loses no work and leaves no orphan`,
  async () => {
    const world = await makeWorld({ tracked: 't\n', '.gitignore': '*.log\n' }, quiet);
    occupy(world);
    const before = own(world);
    for (let kill = 0; kill < KILLS; kill++) {
      const steps = 3 + Math.floor(((kill * 17) % 23) * (AT_ONCE / 2));
      const args = [DRIVER, world.root, `k${kill}`, `${steps}`, `${AT_ONCE}`];
      const env = { ...process.env, TMPDIR: world.root };
      const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000, env });
      expect([kill, signal, stderr]).toEqual([kill, 'SIGKILL', '']);
      // A git outlives who started it, and may be slow.
      await world.reopen({ lockWaitMs: 20_000, settings: { maxActive: 64, leastMs: 600_000 } });
      const { zombies, ghosts } = await world.manager.reconcile();
      expect([kill, zombies, ghosts]).toEqual([kill, [], []]);
      for (const view of await world.manager.list({ all: true })) {
        if (view.taskId.startsWith(`k${kill}-`)) await checkWork(world, view);
      }
      expect(own(world)).toEqual(before);
    }
    const folder = join(world.dataHome, 'reef', readdirSync(join(world.dataHome, 'reef'))[0] ?? '');
    expect([readdirSync(folder), world.plain('fsck', '--no-dangling')]).toEqual([['.trash'], '']);
  },
  60_000 + KILLS * 20_000,
);

/** Wherever a task was when the process died, its file can be had, and the task be ended. */
async function checkWork({ manager, plain }: World, { id, taskId }: { id: string; taskId: string }): Promise<void> {
  await manager.whenReady(id, AbortSignal.timeout(20_000));
  const { status } = await manager.view(id);
  const record = status === 'held' || status === 'discarded' ? await manager.reinflate(id) : await manager.view(id);
  if (record.status === 'accepted') return expect(plain('show', `main:${taskId}`)).toBe(taskId);
  expect([taskId, record.status, textOf(record.path ?? '', taskId) ?? `${taskId}\n`]).toEqual([
    taskId,
    'running',
    `${taskId}\n`,
  ]);
  await manager.accept(id);
}
