import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { Bench, finished, judgedInPlace, noBranches, ScriptedJobs } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node } from '../../../test/support/workflow/walk.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { HaltAnswer, RunView } from '../../protocol/workflow.ts';
import type { Store } from '../../store/store.ts';
import type { JobEnd } from './ports.ts';

let dir: string;
let bench: Bench;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => bench.close());

const halting = manifest({
  N: node({ A: block(['SUCCESS>HALT_AND_FLAG', 'FAILURE>RETURN', 'DONE>JUMP:N__B']), B: block(['SUCCESS>RETURN']) }),
});
const code = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ReefError ? error.code : String(error)),
  );
const open = async (workflow = halting, more: object = {}): Promise<RunView> => {
  bench = new Bench({ dir });
  await bench.start(workflow, more);
  return bench.settle();
};
const at = (answer: Partial<HaltAnswer> = {}): HaltAnswer => ({
  block: 'N__A',
  visit: 1,
  branch: 'main',
  verb: 'resume',
  ...answer,
});

verifies('W-30').test('a halt is the journal entry, the question of the inbox, and isHalted', async () => {
  const view = await open();
  const question = {
    key: 'main/halt-1',
    reason: 'halted_by_workflow',
    block: 'N__A',
    visit: 1,
    branch: 'main',
    message: 'A is done, and the workflow asks you before it goes on.',
    excerpt: 'did it',
    options: ['resume', 'retry', 'skip', 'abort'],
  };
  const inbox = bench.store.journal.openWaits().map(({ runId, data }) => [runId, JSON.parse(data).value]);
  expect([view.isHalted, view.halt, view.halts, inbox]).toEqual([true, question, [question], [['run', question]]]);
  expect((await bench.entries()).at(-1)).toMatchObject({ kind: 'wait', key: 'main/halt-1', data: { value: question } });
});

verifies('W-71').test('a run that halted under a Reef of other words is answered by this one', async () => {
  const older = (store: Store): Store => {
    const append = store.journal.append.bind(store.journal);
    store.journal.append = (runId, row) => {
      if (row.kind !== 'wait') return append(runId, row);
      const data = JSON.parse(row.data);
      const question = { ...data.value, message: 'A has stopped.', options: ['resume', 'abort'] };
      const input = fingerprint({ question, until: null });
      return append(runId, { ...row, data: JSON.stringify({ ...data, value: question, input }) });
    };
    return store;
  };
  bench = new Bench({ dir, wrapStore: older });
  await bench.start(halting);
  await bench.settle();
  const asked = bench.store.journal.openWaits().map(({ data }) => JSON.parse(data).value.message);
  await bench.close();
  bench = new Bench({ dir });
  await bench.engine.recover();
  await bench.runs.answer('run', at({ verb: 'skip', signal: 'SIGNAL:FAILURE' }));
  const end = await bench.engine.result('run');
  expect([asked, end.status]).toEqual([['A has stopped.'], 'completed']);
});

test('a halt after an error of its agent says so in words, and not as JSON', async () => {
  const { spent } = finished('');
  const end: JobEnd = { how: 'error', code: 'agent_error', message: '\u001b[31mrefused\u001b[39m', spent };
  bench = new Bench({ dir, jobs: new ScriptedJobs(async () => end) });
  await bench.start(manifest({ N: node({ A: block(['FAILURE>HALT_AND_FLAG']) }) }));
  const { halt } = await bench.settle();
  expect([halt?.message, halt?.excerpt]).toEqual(['The agent stopped with an error in A.', 'agent_error: refused']);
});

verifies('W-32').test('the first answer wins; a later one and one to a running run do nothing', async () => {
  const view = await open();
  const both = await Promise.all([
    code(bench.runs.answer('run', at({ verb: 'skip', signal: 'SIGNAL:DONE' }))),
    code(bench.runs.answer('run', at({ verb: 'abort' }))),
  ]);
  await bench.engine.result('run');
  const after = await bench.runs.view('run');
  expect([view.isHalted, both.sort(), after.outcome, await code(bench.runs.answer('run', at()))]).toEqual([
    true,
    ['halt_already_answered', 'no error'],
    'success',
    'halt_already_answered',
  ]);
  expect((await bench.entries()).filter(({ kind }) => kind === 'answer')).toHaveLength(1);
});

verifies('W-32').test('an answer to another block, visit or moment is refused', async () => {
  await open();
  const refusals = [at({ visit: 2 }), at({ block: 'N__B' }), at({ branch: 'main.1' })].map((answer) =>
    code(bench.runs.answer('run', answer)),
  );
  expect(await Promise.all(refusals)).toEqual(['run_not_halted', 'run_not_halted', 'run_not_halted']);
  expect(await code(bench.runs.answer('nobody', at()))).toBe('run_not_found');
});

verifies('W-32').test('the same answer sent twice is one answer', async () => {
  await open();
  const answer = at({ verb: 'skip', signal: 'SIGNAL:FAILURE' });
  const first = await code(bench.runs.answer('run', answer, { key: 'click-1', by: 'ann' }));
  const second = await code(bench.runs.answer('run', answer, { key: 'click-1', by: 'ann' }));
  expect([first, second, (await bench.entries()).find(({ kind }) => kind === 'answer')?.data.value]).toMatchObject([
    'no error',
    'no error',
    { verb: 'skip', signal: 'SIGNAL:FAILURE', by: 'ann' },
  ]);
});

verifies('W-31').test('a verb or signal that does not fit is refused and changes nothing', async () => {
  await open();
  const refusals = [
    at({ verb: 'approve' }),
    at({ verb: 'skip', signal: 'SIGNAL:RETURNED' }),
    at({ verb: 'retry', signal: 'SIGNAL:DONE' }),
  ];
  expect(await Promise.all(refusals.map((answer) => code(bench.runs.answer('run', answer))))).toEqual([
    'bad_request',
    'bad_request',
    'bad_request',
  ]);
  expect((await bench.runs.view('run')).isHalted).toBe(true);
});

verifies('W-31').test('a skipped gate is waived, and stays so', async () => {
  const gates = manifest({
    N: node({ T: block(['SUCCESS>RETURN', 'FAILURE>HALT_AND_FLAG'], { worker: 'Internal:TestRunner' }) }),
  });
  const view = await open(gates, { gates: { test: { command: ['/bin/false'], from: 'roster' } } });
  const after = await bench.answer(view, { verb: 'skip' });
  expect([
    after.outcome,
    after.statuses,
    after.gates.map(({ gate, result }) => `${gate} ${result}`),
    after.executionLog['N__T#1']?.status,
  ]).toEqual(['success', { N__T: 'skipped' }, ['test failed', 'test waived'], 'skipped']);
});

verifies('W-31').test('abort ends the run and leaves the worktree alone', async () => {
  const view = await open();
  const after = await bench.answer(view, { verb: 'abort' });
  expect([after.outcome, after.isHalted, after.position]).toEqual(['aborted', false, null]);
});

describe('a run under way', () => {
  const hanging = () => {
    const jobs = new ScriptedJobs(({ spec }) =>
      spec.run.visit === 1 ? new Promise(() => {}) : finished('SIGNAL:SUCCESS'),
    );
    bench = new Bench({ dir, jobs });
    return jobs;
  };
  const active = async () => {
    await expect.poll(async () => (await bench.runs.view('run')).executionLog['N__A#1']?.jobId).toBeDefined();
    return bench.runs.view('run');
  };

  verifies('W-80').test('shows its block as active, with its job', async () => {
    hanging();
    await bench.start(halting);
    const view = await active();
    expect([view.statuses, view.position, view.path, view.executionLog['N__A#1']]).toEqual([
      { N__A: 'active', N__B: 'pending' },
      { block: 'N__A', visit: 1, branch: 'main' },
      [{ block: 'N__A', visit: 1, branch: 'main' }],
      {
        block: 'N__A',
        visit: 1,
        branch: 'main',
        worker: 'Agent:claude',
        status: 'active',
        jobId: 'job-1',
        prompt: ['Task', 'Where you are', 'How to answer'].map((section) => ({ section, tokens: expect.any(Number) })),
        segments: [],
      },
    ]);
    expect(await code(bench.runs.answer('run', at({ verb: 'resume' })))).toBe('run_not_halted');
  });

  verifies('W-31').test('cancelled, its job is killed', async () => {
    const jobs = hanging();
    await bench.start(halting);
    await active();
    await bench.engine.cancel('run', 'enough');
    const view = await bench.runs.view('run');
    expect([view.outcome, jobs.killed, view.statuses.N__A]).toEqual(['aborted', ['job-1'], 'failed']);
  });

  test('let go by its process, its job lives on and is found again', async () => {
    const { promise: work, resolve: finish } = Promise.withResolvers<JobEnd>();
    const jobs = new ScriptedJobs(() => work);
    bench = new Bench({ dir, jobs });
    await bench.start(halting);
    await active();
    await bench.close();
    bench = new Bench({ dir, jobs });
    await bench.engine.recover();
    finish(finished('SIGNAL:FAILURE'));
    const view = await bench.settle();
    expect([view.outcome, jobs.killed, jobs.specs.length]).toEqual(['failure', [], 1]);
  });
});

describe('stepping', () => {
  const two = manifest({
    N: node({ A: block(['SUCCESS>JUMP:N__B']), B: block(['SUCCESS>JUMP:N__C']), C: block(['SUCCESS>RETURN']) }),
  });

  verifies('W-34').test('asks before every block; the mode can be changed while the run goes on', async () => {
    const first = await open(two, { stepping: true });
    expect([first.halt?.reason, first.halt?.block, first.path]).toEqual(['awaiting_approval', 'N__A', []]);
    const second = await bench.answer(first, { verb: 'approve' });
    expect([second.halt?.block, second.visits]).toEqual(['N__B', { N__A: 1 }]);
    const done = await bench.answer(second, { verb: 'approve', step: false });
    expect(done.outcome).toBe('success');
  });

  verifies('W-34').test('turned on in the middle of a block it holds from the next one on', async () => {
    const { promise: work, resolve: finish } = Promise.withResolvers<JobEnd>();
    const jobs = new ScriptedJobs(({ spec }) => (spec.run.block === 'N__A' ? work : finished('SIGNAL:SUCCESS')));
    bench = new Bench({ dir, jobs });
    await bench.start(two);
    await expect.poll(() => jobs.specs.length).toBe(1);
    await bench.runs.setStepping('run', true);
    finish(finished('SIGNAL:SUCCESS'));
    const view = await bench.settle();
    expect([view.halt?.reason, view.halt?.block]).toEqual(['awaiting_approval', 'N__B']);
    const off = await bench.answer(view, { verb: 'approve', step: false });
    expect(off.outcome).toBe('success');
    expect(await code(bench.runs.setStepping('run', true))).toBe('run_not_halted');
  });
});

verifies('W-33').test('a worker that throws halts with its stack, and the run is not over', async () => {
  const plans = manifest({ N: node({ A: block(['SUCCESS>RETURN'], { worker: 'Internal:UpdateChangePlan' }) }) });
  let calls = 0;
  bench = new Bench({
    dir,
    ports: {
      worktrees: {
        ...noBranches,
        ...judgedInPlace(dir),
        async addToChangePlan() {
          calls += 1;
          if (calls === 1) throw new Error('the manager is gone');
        },
      },
    },
  });
  await bench.start(plans);
  const view = await bench.settle();
  expect([view.halt?.reason, view.halt?.message, view.halt?.excerpt?.includes('halts.test.ts'), view.statuses]).toEqual(
    ['worker_crashed', 'the manager is gone', true, { N__A: 'halted' }],
  );
  expect((await bench.answer(view, { verb: 'retry' })).outcome).toBe('success');
});

verifies('Q-41').test(
  'a halt and its question survive the process, and of two answers at once one is taken',
  async () => {
    const before = await open();
    await bench.close();
    bench = new Bench({ dir });
    const recovered = await bench.engine.recover();
    const after = await bench.runs.view('run');
    expect([recovered, after.halt]).toEqual([['run'], before.halt]);
    const codes = await Promise.all(
      ['retry', 'skip', 'abort'].map((verb) => code(bench.runs.answer('run', at({ verb: verb as 'abort' })))),
    );
    expect(codes.filter((each) => each === 'no error')).toHaveLength(1);
  },
);
