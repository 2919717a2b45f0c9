import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { FakePlan } from '../../../test/support/context/fake-plan.ts';
import { openBench } from '../../../test/support/context/manager-bench.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import type { JsonRpcClient } from '../client/stdio-client.ts';
import type { ActivitySource } from './lifecycle.ts';
import type { ServerManagerOptions } from './server-manager.ts';

/** Real servers on a clock that moves when told, and a source of activity in the hand of the test. */
async function followed(planOf: (name: string) => FakePlan, options: Partial<ServerManagerOptions> = {}) {
  const clock = manualClock();
  const bench = await openBench(planOf, { clock, ...options });
  onTestFinished(() => bench.close());
  let listener: Parameters<ActivitySource['onChange']>[0] = () => {};
  const stop = bench.manager.follow({
    onChange(f) {
      listener = f;
      return () => {
        listener = () => {};
      };
    },
  });
  const tell = (worktreePath: string, change: { active?: boolean; removed?: boolean }) =>
    listener({ worktreePath, active: false, removed: false, ...change });
  const isUp = (path: string) => bench.manager.running().some((each) => each.worktreePath === path && each.isUsable);
  /** How many ends were seen to their last process; a restart, if there is one, waits by then. */
  const ends = () => bench.warnings.filter((message) => message === 'An analysis server ended').length;
  const starts = (path: string) => bench.heard(path).filter((line) => line.startsWith('start')).length;
  return { ...bench, clock, stop, tell, isUp, starts, ends };
}

const ask = (client: JsonRpcClient | undefined, name: string) =>
  client?.request('tools/call', { name: 'get_symbol', arguments: { name } });

verifies('C-075').test(
  'a server goes up when its worktree becomes active and down a minute after it rests',
  async () => {
    const { tell, worktree, isUp, clock, manager, pids, alive } = await followed(() => ({}));
    const path = worktree('a');
    tell(path, { active: true });
    await until('it is up', () => isUp(path));
    const tree = pids();
    await clock.advance(120_000);
    const whileActive = isUp(path);
    tell(path, {});
    await clock.advance(55_000);
    const soon = isUp(path);
    await clock.advance(10_000);
    await until('it is gone', () => alive(tree) === 0);
    expect([whileActive, soon, manager.running()]).toEqual([true, true, []]);
  },
);

verifies('C-075').test('news of a worktree whose server runs starts nothing and warns of nothing', async () => {
  const { tell, worktree, isUp, starts, warnings } = await followed(() => ({}));
  const path = worktree('a');
  tell(path, { active: true });
  tell(path, { active: true });
  await until('it is up', () => isUp(path));
  tell(path, { active: true });
  tell(path, {});
  tell(path, { active: true });
  expect([starts(path), warnings]).toEqual([1, []]);
});

verifies('C-075').test('a start in the background that fails is told and tried again with the next news', async () => {
  const { tell, isUp, dir, warnings } = await followed(() => ({}));
  tell(dir, { active: true });
  await until('it is told', () => warnings.length > 0);
  mkdirSync(join(dir, '.git'));
  tell(dir, { active: true });
  await until('it is up', () => isUp(dir));
  expect(warnings).toEqual(['An analysis server is not up']);
});

verifies('C-077').test('news does not hurry the restart of a server that died too often', async () => {
  const { tell, worktree, clock, manager, starts, ends, isUp } = await followed(() => ({}), {
    timings: { restarts: [0, 0, 0] },
  });
  const path = worktree('a');
  tell(path, { active: true });
  for (const death of [1, 2, 3]) {
    await until('it is up', () => isUp(path));
    await ask(manager.getClientFor(path), 'exit 1')?.catch(() => {});
    await until('it is gone', () => ends() === death);
    await clock.advance(0);
  }
  tell(path, { active: true });
  await clock.advance(59_000);
  const before = starts(path);
  await clock.advance(1_000);
  await until('it is back', () => isUp(path));
  expect([before, starts(path)]).toEqual([3, 4]);
});

verifies('C-075').test('a question puts the end of an inactive server off', async () => {
  const { worktree, isUp, clock, manager } = await followed(() => ({}));
  const path = worktree('a');
  const client = await manager.ensureServer(path);
  await clock.advance(55_000);
  await ask(client, 'x');
  await clock.advance(55_000);
  const still = isUp(path);
  await clock.advance(10_000);
  await until('it is down', () => !isUp(path));
  expect(still).toBe(true);
});

verifies('C-075').test('an active worktree that nobody asks for ten minutes loses its server', async () => {
  const { tell, worktree, isUp, clock, manager, starts } = await followed(() => ({}));
  const path = worktree('a');
  tell(path, { active: true });
  await until('it is up', () => isUp(path));
  await clock.advance(595_000);
  await ask(await manager.ensureServer(path), 'x');
  await clock.advance(595_000);
  const still = isUp(path);
  await clock.advance(10_000);
  await until('it is down', () => !isUp(path));
  await clock.advance(120_000);
  const before = starts(path);
  await manager.ensureServer(path);
  expect([still, before, starts(path)]).toEqual([true, 1, 2]);
});

verifies('C-075').test(
  'spinning down is over before the folder goes, and a removed worktree is not started again',
  async () => {
    const { tell, worktree, isUp, clock, manager, pids, alive, starts } = await followed(() => ({}));
    const path = worktree('a');
    tell(path, { active: true });
    await until('it is up', () => isUp(path));
    const tree = pids();
    await manager.spinDownServer(path);
    const left = alive(tree);
    tell(path, { removed: true });
    rmSync(path, { recursive: true });
    tell(path, { removed: true });
    await clock.advance(120_000);
    expect([left, manager.running(), starts(path)]).toEqual([0, [], 1]);
  },
);

verifies('C-075').test('a removed worktree loses its server by the news alone, also while it starts', async () => {
  const { tell, worktree, manager, pids, alive } = await followed(() => ({ index: 'hang' }));
  const path = worktree('a');
  tell(path, { active: true });
  await until('it indexes', () => manager.getClientFor(path));
  const tree = pids();
  tell(path, { removed: true });
  await until('it is gone', () => alive(tree) === 0);
  expect(manager.running()).toEqual([]);
});

verifies('C-075').test('after the source is left its news changes nothing', async () => {
  const { tell, worktree, stop, manager } = await followed(() => ({}));
  stop();
  tell(worktree('a'), { active: true });
  expect(manager.running()).toEqual([]);
});

verifies('C-077', 'C-074', 'Q-28').test(
  'a dead server is gone at once, its calls fail, and it comes back after 0.2 s while active',
  async () => {
    const { tell, worktree, isUp, clock, manager, starts, ends } = await followed(() => ({}));
    const path = worktree('a');
    tell(path, { active: true });
    await until('it is up', () => isUp(path));
    const client = manager.getClientFor(path);
    const hanging = ask(client, 'hang');
    const died = expect(hanging).rejects.toMatchObject({ code: 'analysis_server_died', retryable: true });
    await ask(client, 'exit 1')?.catch(() => {});
    await died;
    const after = [manager.getClientFor(path), starts(path)];
    await until('the restart waits', () => ends() === 1);
    await clock.advance(199);
    const early = manager.running().length;
    await clock.advance(2);
    await until('it is back', () => isUp(path));
    expect([after, early, starts(path)]).toEqual([[undefined, 1], 0, 2]);
  },
);

verifies('C-077').test('a dead server of an inactive worktree stays down until somebody asks', async () => {
  const { worktree, clock, manager, starts, ends } = await followed(() => ({}));
  const path = worktree('a');
  await ask(await manager.ensureServer(path), 'exit 1')?.catch(() => {});
  await until('it is gone', () => ends() === 1);
  await clock.advance(10_000);
  const before = starts(path);
  await manager.ensureServer(path);
  expect([before, starts(path)]).toEqual([1, 2]);
});

verifies('C-077', 'Q-28').test(
  'three deaths in a minute make a server unavailable for a minute, then it is tried again',
  async () => {
    const { tell, worktree, isUp, clock, manager, starts, ends } = await followed(() => ({}));
    const path = worktree('a');
    tell(path, { active: true });
    for (const [index, restart] of [200, 1_000].entries()) {
      await until('it is up', () => isUp(path));
      await ask(manager.getClientFor(path), 'exit 1')?.catch(() => {});
      await until('the restart waits', () => ends() === index + 1);
      await clock.advance(restart);
    }
    await until('it is up', () => isUp(path));
    await ask(manager.getClientFor(path), 'exit 1')?.catch(() => {});
    await until('the restart waits', () => ends() === 3);
    const refused = await manager.ensureServer(path).catch((error: unknown) => error);
    await clock.advance(59_000);
    const late = await manager.spinUpServer(path).catch((error: unknown) => error);
    const before = starts(path);
    await clock.advance(1_000);
    await until('it is back', () => isUp(path));
    const unavailable = expect.objectContaining({ code: 'analysis_server_unavailable', retryable: true });
    expect([refused, late, before, starts(path)]).toEqual([unavailable, unavailable, 3, 4]);
  },
);

verifies('C-077').test('a worktree that comes to rest is not restarted', async () => {
  const { tell, worktree, isUp, clock, manager, starts, ends } = await followed(() => ({}));
  const path = worktree('a');
  tell(path, { active: true });
  await until('it is up', () => isUp(path));
  await ask(manager.getClientFor(path), 'exit 1')?.catch(() => {});
  await until('the restart waits', () => ends() === 1);
  tell(path, {});
  await clock.advance(60_000);
  expect([manager.running(), starts(path)]).toEqual([[], 1]);
});

verifies('C-078').test('exit code 75 is a warm restart at once', async () => {
  const { tell, worktree, isUp, clock, manager, starts, ends } = await followed(() => ({}));
  const path = worktree('a');
  tell(path, { active: true });
  await until('it is up', () => isUp(path));
  await ask(manager.getClientFor(path), 'exit 75')?.catch(() => {});
  await until('the restart waits', () => ends() === 1);
  await clock.advance(0);
  await until('it is back', () => isUp(path));
  expect(starts(path)).toBe(2);
});

verifies('C-078').test('a server seen above its ceiling twice is ended and started warm', async () => {
  const { tell, worktree, isUp, clock, manager, starts, ends } = await followed(() => ({}), {
    maxMemoryMb: 160,
  });
  const path = worktree('a');
  tell(path, { active: true });
  await until('it is up', () => isUp(path));
  await clock.advance(15_000);
  const small = isUp(path);
  await ask(manager.getClientFor(path), 'grow 200');
  await clock.advance(5_000);
  const once = isUp(path);
  await clock.advance(5_000);
  await until('the restart waits', () => ends() === 1);
  await clock.advance(0);
  await until('it is back', () => isUp(path));
  expect([small, once, starts(path)]).toEqual([true, true, 2]);
});
