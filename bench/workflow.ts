import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { createIds } from '../src/base/ids.ts';
import { createLogger } from '../src/base/log.ts';
import { capture } from '../src/git/capture.ts';
import type { Checkout } from '../src/git/checkout.ts';
import { createGit, type Git } from '../src/git/git-command.ts';
import { mergeAll, mergeTrees } from '../src/git/merge.ts';
import { run } from '../src/process/run.ts';
import type { WorkflowManifest } from '../src/protocol/workflow.ts';
import { Store } from '../src/store/store.ts';
import { journalBlobs } from '../src/workflow/durable/journal.ts';
import { RunFold } from '../src/workflow/view/run-fold.ts';
import { GitWorktreeManager } from '../src/worktrees/manager.ts';
import { RunsRig } from '../test/e2e/runs-rig.ts';
import { initRepository } from '../test/support/repository.ts';
import { disposableFolder } from '../test/support/temporary-folder.ts';
import { Bench } from '../test/support/workflow/run-bench.ts';
import { median, printRows, type Row, timed } from './measure.ts';

const VISITS = 1_000;
const ENTRIES = 10_000;
const FILES = 7_085;
const WORKTREES = 20;
const REPEATS = 3;

/** The figures the design page of workflows and worktrees promises, side by side. */
export async function benchWorkflow(): Promise<boolean> {
  using folder = disposableFolder();
  const dir = folder.path;
  const rows = [await visits(dir), await rebuild(dir), await twoTasks(), ...(await radar(dir))];
  return printRows('workflows and worktrees', rows);
}

const back = (times: number) => [
  { on_signal: 'SIGNAL:SUCCESS', guard: `visits < ${times}`, action: 'JUMP:N__A' },
  { on_signal: 'SIGNAL:SUCCESS', action: 'RETURN' },
];

/** One block that does nothing and comes back to itself. */
function idle(times: number): WorkflowManifest {
  const block = { worker: 'Internal:UpdateChangePlan', max_visits: times + 1, transitions: back(times) };
  return { nodes: { N: { entry_block: 'N__A', context_inheritance: true, blocks: { A: block } } } };
}

async function visits(root: string): Promise<Row> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let n = 0; n < REPEATS; n++) {
    const bench = new Bench({ dir: join(root, `visits-${n}`) });
    ours.push(
      await timed(async () => {
        await bench.start(idle(VISITS));
        await bench.engine.result('run');
      }),
    );
    const { store } = bench;
    const entries = await bench.entries();
    theirs.push(
      await timed(() => {
        for (const { at, kind, key, data } of entries) {
          const row = { at, kind: kind === 'start' ? 'bare' : kind, key, data: JSON.stringify(data) };
          store.commit(() => store.journal.append('bare', row));
        }
      }),
    );
    await bench.close();
  }
  return {
    what: '1,000 no-op visits · as many bare inserts',
    ours: median(ours),
    theirs: median(theirs),
    unit: 'ms',
    target: { most: 3 },
  };
}

/** An agent and a worker of Reef's own in turn: three entries and one. */
function inTurn(times: number): WorkflowManifest {
  const agent = {
    worker: 'Agent:coder',
    payload_merge_strategy: ['ONLY:TEST_RESULT'],
    max_visits: times + 1,
    transitions: [{ on_signal: 'SIGNAL:SUCCESS', action: 'JUMP:N__B' }],
  };
  const { nodes } = idle(times);
  const blocks = {
    A: agent,
    B: { ...nodes.N?.blocks.A, worker: 'Internal:UpdateChangePlan', transitions: back(times) },
  };
  return { nodes: { N: { entry_block: 'N__A', context_inheritance: true, blocks } } };
}

async function rebuild(root: string): Promise<Row> {
  const bench = new Bench({ dir: join(root, 'rebuild') });
  await bench.start(inTurn(ENTRIES / 4));
  await bench.engine.result('run');
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let n = 0; n < REPEATS * 2; n++) {
    theirs.push(await timed(() => bench.entries()));
    const fold = new RunFold('run', journalBlobs(bench.store));
    ours.push(
      await timed(async () => {
        for await (const entry of bench.engine.history('run')) fold.apply(entry);
        fold.view();
      }),
    );
  }
  await bench.close();
  return {
    what: 'rebuild a view of 10,000 entries · read them',
    ours: median(ours),
    theirs: median(theirs),
    unit: 'ms',
    target: { most: 2 },
  };
}

/** The agents wait for their model, as agents do. */
async function twoTasks(): Promise<Row> {
  const rig = new RunsRig({ 'package.json': '{"scripts":{"test":"true"}}\n' });
  try {
    await rig.trust();
    const steps = [{ sleep: 3_000 }, { edit: { path: 'x', content: 'x\n' } }, { say: 'Done.\nSIGNAL:SUCCESS' }];
    const agent = rig.world.script('works', steps);
    const go = async (...tasks: string[]) => {
      const took = await timed(async () => {
        const order = (task: string) => ({ task, agent, workflow: 'test-fix', plan: [`${task}.txt`] });
        const started = await Promise.all(tasks.map((task) => rig.start(order(task))));
        await Promise.all(started.map(({ runId }) => rig.settled(runId)));
      });
      await rig.clear();
      return took;
    };
    await go('warm');
    const [theirs, ours] = [await go('one'), await go('left', 'right')];
    return { what: 'two tasks without a clash · one', ours, theirs, unit: 'ms', target: { most: 1.2 } };
  } finally {
    await rig.close();
  }
}

interface Radar {
  git: Git;
  checkout: Checkout;
  manager: GitWorktreeManager;
  paths: string[];
  close(): Promise<void>;
}

async function radar(root: string): Promise<Row[]> {
  const { git, checkout, manager, paths, close } = await openRadar(join(root, 'radar'));
  const commits: string[] = [];
  const captures = await timed(async () => {
    for (const [n, path] of paths.entries()) {
      const worktree = await git.locate(path);
      const made = await capture(git, worktree, { ref: `refs/reef/bench/${n}`, message: 'bench', at: new Date() });
      commits.push(made.commit);
    }
  });
  const pairs = commits.flatMap((ours, n) => commits.slice(n + 1).map((theirs) => ({ ours, theirs })));
  const batched = await timed(() => mergeAll(git, checkout, pairs));
  const single = await timed(async () => {
    for (const pair of pairs) await mergeTrees(git, checkout, pair);
  });
  const first = await timed(() => manager.conflicts());
  const second = await timed(() => manager.conflicts());
  await close();
  const unit = 'ms';
  return [
    {
      what: `${pairs.length} pairs in one merge-tree · a process each`,
      ours: 1 / batched,
      theirs: 1 / single,
      unit: '/ms',
      target: { least: 2 },
    },
    {
      what: `${pairs.length} pairs · ${paths.length} captures`,
      ours: batched,
      theirs: captures,
      unit,
      target: { most: 0.3 },
    },
    { what: 'a second pass without change · the first', ours: second, theirs: first, unit, target: { most: 0.3 } },
  ];
}

async function openRadar(dir: string): Promise<Radar> {
  const repository = join(dir, 'repo');
  const text = (n: number) => `export const value${n} = ${n};\n`.repeat(40);
  initRepository(repository, Object.fromEntries(Array.from({ length: FILES }, (_, n) => [name(n), text(n)])));
  const env = { PATH: process.env.PATH ?? '', HOME: dir, GIT_CONFIG_NOSYSTEM: '1' };
  const git = createGit({ run, env });
  const store = new Store(join(dir, 'reef.db'));
  const manager = await GitWorktreeManager.open({
    ...{ git, repository, store, clock: systemClock, dataHome: join(dir, 'data'), stateHome: join(dir, 'state') },
    log: createLogger({ write() {}, clock: systemClock, redact: (text) => text }),
    newId: createIds(systemClock),
    run: (spec) => run({ ...spec, env }),
    isPortFree: async () => true,
    settings: { maxActive: WORKTREES, leastMs: 0 },
  });
  const paths: string[] = [];
  for (let n = 0; n < WORKTREES; n++) {
    const { id } = await manager.submit({ taskId: `t${n}`, plan: [] });
    const { path } = await manager.whenReady(id);
    paths.push(path ?? '');
    for (let file = 0; file < 10; file++) writeFileSync(join(path ?? '', name(n * 50 + file)), `${n}\n`);
    writeFileSync(join(path ?? '', name(FILES - 1)), `line of ${n}\n`);
  }
  const close = async () => {
    await manager.close();
    store.close();
  };
  return { git, checkout: await git.locate(repository), manager, paths, close };
}

const name = (n: number) => join(`d${n % 97}`, `f${n}.ts`);
