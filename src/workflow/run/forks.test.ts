import { afterEach, beforeEach, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { Bench, finished, ScriptedJobs } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node, to } from '../../../test/support/workflow/walk.ts';
import type { JobEnd } from './ports.ts';

let dir: string;
let bench: Bench;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => bench.close());

const reader = { worker: 'Agent:reader' };
const workers = { reader: { agent: 'claude', readonly: true } };
const forking = (names: string[], more: object = {}) => ({
  workers,
  ...manifest({
    N: node({
      A: block([to(`SUCCESS>FORK:${names.join(',')}:N__End`, more), 'FORK_FAILED>JUMP:N__End'], reader),
      End: block(['SUCCESS>RETURN'], reader),
    }),
    ...Object.fromEntries(
      names.map((name) => [
        name,
        node({ x: block(['SUCCESS>RETURN', 'FAILURE>RETURN', 'ASK>HALT_AND_FLAG', 'RESUMED>RETURN'], reader) }),
      ]),
    ),
  }),
});

/** Branches end in the order we say. */
function gated() {
  const waiting = new Map<string, (end: JobEnd) => void>();
  const begins: string[] = [];
  const jobs = new ScriptedJobs(({ spec: { run } }) => {
    if (run.branch === 'main') return finished('SIGNAL:SUCCESS', { summary: run.block });
    begins.push(run.block);
    return new Promise((resolve) => waiting.set(run.block, resolve));
  });
  const begun = async (count: number) => {
    await expect.poll(() => begins.length).toBe(count);
    return begins.toSorted();
  };
  const end = (name: string, signal = 'SIGNAL:SUCCESS') => waiting.get(name)?.(finished(signal, { summary: name }));
  return { jobs, begun, end };
}

const outputs = async () =>
  (await bench.entries()).length > 0
    ? (await bench.runs.view('run')).path.map(({ block: at, branch }) => `${branch} ${at}`)
    : [];

verifies('W-25', 'W-75').test(
  'at most four branches run at once, and the order of their ends does not matter',
  async () => {
    const { jobs, begun, end } = gated();
    bench = new Bench({ dir, jobs });
    await bench.start(forking(['P', 'Q', 'R', 'S', 'T']));
    expect(await begun(4)).toEqual(['P__x', 'Q__x', 'R__x', 'S__x']);
    const running = await bench.runs.view('run');
    expect(
      Object.entries(running.statuses)
        .filter(([, status]) => status === 'active')
        .map(([id]) => id),
    ).toEqual(['P__x', 'Q__x', 'R__x', 'S__x']);
    for (const name of ['S__x', 'Q__x']) end(name);
    await begun(5);
    for (const name of ['T__x', 'R__x', 'P__x']) end(name);
    const view = await bench.settle();
    const last = jobs.specs.at(-1);
    const order = ['P__x', 'Q__x', 'R__x', 'S__x', 'T__x'].map((name) => last?.prompt.indexOf(name) ?? -1);
    expect([view.outcome, view.visits]).toEqual([
      'success',
      { N__A: 1, P__x: 1, Q__x: 1, R__x: 1, S__x: 1, T__x: 1, N__End: 1 },
    ]);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect((await outputs()).length).toBe(7);
  },
);

verifies('W-25').test('join: any takes the first success, cancels the rest and kills their jobs', async () => {
  const { jobs, begun, end } = gated();
  bench = new Bench({ dir, jobs });
  await bench.start(forking(['P', 'Q', 'R'], { join: 'any' }));
  await begun(3);
  end('P__x', 'SIGNAL:FAILURE');
  end('R__x');
  const view = await bench.settle();
  const killed = jobs.killed.map((id) => jobs.specs[Number(id.slice(4)) - 1]?.run.block);
  expect([view.outcome, killed, view.executionLog['N__End#1']?.status]).toEqual(['success', ['Q__x'], 'complete']);
  const results = jobs.specs.at(-1)?.prompt.match(/"signal": [^\n]+/g);
  expect(results?.slice(0, 3)).toEqual(['"signal": "SIGNAL:FAILURE"', '"signal": null', '"signal": "SIGNAL:SUCCESS"']);
});

verifies('W-25').test('a branch without success is FORK_FAILED', async () => {
  const { jobs, begun, end } = gated();
  bench = new Bench({ dir, jobs });
  await bench.start(forking(['P', 'Q']));
  await begun(2);
  end('P__x');
  end('Q__x', 'SIGNAL:FAILURE');
  expect((await bench.settle()).lastTransition).toEqual({ from: 'N__End', to: 'RETURN', signal: 'SIGNAL:SUCCESS' });
});

verifies('W-30', 'W-32').test('in a fork only the branch that asks halts, and its answer names it', async () => {
  const { jobs, begun, end } = gated();
  bench = new Bench({ dir, jobs });
  await bench.start(forking(['P', 'P']));
  await begun(2);
  end('P__x', 'SIGNAL:ASK');
  const view = await bench.settle();
  expect(view.halts.map(({ block: at, visit, branch }) => `${branch} ${at}#${visit}`)).toEqual(['main.2 P__x#1']);
  await bench.runs.answer('run', { block: 'P__x', visit: 1, branch: 'main.2', verb: 'resume' });
  const after = await bench.runs.view('run');
  expect([after.isHalted, after.outcome]).toEqual([false, 'running']);
});

verifies('W-26').test('isolation: worktree gives each branch its own, merged back in declared order', async () => {
  const calls: string[] = [];
  let isSettled = false;
  const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS'));
  bench = new Bench({
    dir,
    jobs,
    ports: {
      worktrees: {
        addToChangePlan: () => Promise.reject(new Error('no plans here')),
        inGateCheckout: () => Promise.reject(new Error('no gates here')),
        compareWithBase: async () => undefined,
        async branchOff(key, from) {
          calls.push(`create ${key} from ${from.id}`);
          return { id: `w-${calls.length}`, path: bench.worktree };
        },
        async mergeBack(branch, parent) {
          calls.push(`merge ${branch.id} into ${parent.id}`);
          return { conflicts: branch.id === 'w-2' && !isSettled ? ['a.ts'] : [] };
        },
        async discard(id) {
          calls.push(`discard ${id}`);
          return { ref: '', command: '', ignored: [] };
        },
      },
    },
  });
  await bench.start(forking(['P', 'Q', 'R'], { isolation: 'worktree' }));
  const view = await bench.settle();
  expect(calls).toEqual([
    'create run/main/N__A#1/fork-1/main.1/worktree from w1',
    'create run/main/N__A#1/fork-1/main.2/worktree from w1',
    'create run/main/N__A#1/fork-1/main.3/worktree from w1',
    'merge w-1 into w1',
    'merge w-2 into w1',
  ]);
  expect(jobs.specs.slice(1).map(({ worktreeId }) => worktreeId)).toEqual(['w-1', 'w-2', 'w-3']);
  expect([view.halt?.reason, view.halt?.files]).toEqual(['fork_conflict', ['a.ts']]);
  isSettled = true;
  expect((await bench.answer(view, { verb: 'resume' })).outcome).toBe('success');
  expect(calls.slice(5)).toEqual([
    ...['merge w-1 into w1', 'merge w-2 into w1', 'merge w-3 into w1'],
    ...['discard w-1', 'discard w-2', 'discard w-3'],
  ]);
});

verifies('W-26').test('worktrees that cannot be made are a failed fork, not a broken run', async () => {
  bench = new Bench({ dir });
  await bench.start(forking(['P', 'Q'], { isolation: 'worktree' }));
  const view = await bench.settle();
  expect([view.outcome, view.path.map(({ block: at }) => at)]).toEqual(['success', ['N__A', 'N__End']]);
});

verifies('W-36').test('branches share the budget of the run', async () => {
  const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS'));
  bench = new Bench({ dir, jobs });
  await bench.start({ ...forking(['P', 'Q']), budget: { tokens: 30 } });
  const view = await bench.settle();
  expect([view.halt?.reason, view.halt?.block, view.budget.spent.tokens]).toEqual(['budget_exhausted', 'N__End', 30]);
});
