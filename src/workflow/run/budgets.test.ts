import { afterEach, beforeEach, describe, expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { Bench, finished, ScriptedJobs, SPENT } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node } from '../../../test/support/workflow/walk.ts';
import type { Amounts } from '../../protocol/workflow.ts';
import { allowance, Ledger, NOTHING, raised, verdict } from '../walk/amounts.ts';
import { runBudget } from './branch-run.ts';
import type { JobEnd } from './ports.ts';

let dir: string;
let bench: Bench;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => bench.close());

const amounts = (more: Partial<Amounts>): Amounts => ({ ...NOTHING, ...more });
const chain = (more: object = {}) =>
  manifest({
    N: node({ A: block(['SUCCESS>JUMP:N__B'], more), B: block(['SUCCESS>JUMP:N__C']), C: block(['SUCCESS>RETURN']) }),
  });

describe('amounts', () => {
  verifies('W-36').test('a visit may use its own budget and no more than is left of the run', () => {
    bench = new Bench({ dir });
    const run = { limit: { tokens: 100, usd: 1, seconds: 50 }, spent: amounts({ tokens: 90, usd: 2, seconds: 10.5 }) };
    expect(allowance({ tokens: 30, turns: 4, seconds: 20 }, run)).toEqual({
      tokens: 10,
      turns: 4,
      seconds: 20,
      usd: 0.000_001,
    });
    expect([
      raised({ tokens: 10, usd: 0.5 }, 2),
      runBudget({ manifest: { nodes: {}, budget: { tokens: 5, turns: 3 } }, budget: { tokens: 9, usd: 1 } } as never),
    ]).toEqual([
      { tokens: 30, usd: 1.5 },
      { tokens: 5, turns: 3, usd: 1 },
    ]);
  });

  verifies('W-36').test('80 % is told once, 100 % ends it, and an unknown cost counts as nothing known', () => {
    bench = new Bench({ dir });
    const limit = { tokens: 100, usd: 1 };
    expect([
      verdict(limit, amounts({ tokens: 70 }), amounts({ tokens: 9 })),
      verdict(limit, amounts({ tokens: 70 }), amounts({ tokens: 10 })),
      verdict(limit, amounts({ tokens: 80 }), amounts({ tokens: 5 })),
      verdict(limit, amounts({ tokens: 80 }), amounts({ tokens: 20, usd: null })),
      verdict({}, amounts({ tokens: 80 }), amounts({ tokens: 20 })),
    ]).toEqual([
      { warned: [] },
      { warned: ['tokens'] },
      { warned: [] },
      { warned: [], exhausted: 'tokens' },
      { warned: [] },
    ]);
  });

  verifies('W-36').test('a ledger counts each visit once and a joined branch as one sum', () => {
    bench = new Bench({ dir });
    const ledger = new Ledger();
    ledger.enter('r', 'main/A#1', amounts({ tokens: 1 }));
    ledger.enter('r', 'main/A#1~2', amounts({ tokens: 5, usd: null }));
    ledger.enter('r', 'main.1/B#1', amounts({ tokens: 10 }));
    ledger.enter('r', 'main.1.1/B#1', amounts({ tokens: 10 }));
    ledger.enter('other', 'main/A#1', amounts({ tokens: 1_000 }));
    const before = [ledger.spent('r').tokens, ledger.spent('r', 'main/A#1').tokens];
    ledger.close('r', 'main.1', amounts({ tokens: 20 }));
    const after = ledger.spent('r').tokens;
    ledger.forget('r');
    expect([before, after, ledger.spent('r'), ledger.spent('other').tokens]).toEqual([[25, 20], 25, NOTHING, 1_000]);
  });
});

verifies('W-36').test('agents are given what is left; at 100 % the next block is not run', async () => {
  const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS'));
  bench = new Bench({ dir, jobs });
  await bench.start({ ...chain(), budget: { tokens: 20, seconds: 1_000 } });
  const view = await bench.settle();
  expect(jobs.specs.map(({ budget }) => budget)).toEqual([
    { tokens: 20, seconds: 1_000 },
    { tokens: 10, seconds: 998 },
  ]);
  expect([view.halt?.reason, view.halt?.block, view.budget]).toEqual([
    'budget_exhausted',
    'N__C',
    { limit: { tokens: 20, seconds: 1_000 }, spent: { tokens: 20, turns: 2, seconds: 4, usd: 1 }, warned: ['tokens'] },
  ]);
  const after = await bench.answer(view, { verb: 'resume' });
  expect([after.outcome, jobs.specs[2]?.budget]).toEqual(['success', { tokens: 20, seconds: 1_996 }]);
});

verifies('W-36').test(
  'an interrupted turn raises SIGNAL:BUDGET_EXHAUSTED; retry gives the block its budget once more',
  async () => {
    const cut: JobEnd = { how: 'budget', what: 'turns', spent: SPENT };
    const jobs = new ScriptedJobs(({ spec }) =>
      spec.run.block === 'N__A' && spec.run.visit === 1 ? cut : finished('SIGNAL:SUCCESS'),
    );
    bench = new Bench({ dir, jobs });
    await bench.start(chain({ budget: { turns: 5, seconds: 60 } }));
    const view = await bench.settle();
    expect([view.halt?.reason, view.halt?.message, view.executionLog['N__A#1']?.status]).toEqual([
      'budget_exhausted',
      'A used up its budget: turns.',
      'failed',
    ]);
    const after = await bench.answer(view, { verb: 'retry' });
    expect([after.outcome, jobs.specs.slice(0, 2).map(({ budget }) => budget)]).toEqual([
      'success',
      [
        { turns: 5, seconds: 60 },
        { turns: 10, seconds: 120 },
      ],
    ]);
  },
);

verifies('W-36').test('an unknown cost shows as unknown, never 0', async () => {
  bench = new Bench({
    dir,
    jobs: new ScriptedJobs(({ spec }) => ({
      ...finished('SIGNAL:SUCCESS'),
      spent: { ...SPENT, usd: spec.run.block === 'N__B' ? null : 0.5 },
    })),
  });
  await bench.start(chain());
  expect((await bench.settle()).budget.spent).toEqual({ tokens: 30, turns: 3, seconds: 6, usd: null });
});

verifies('W-36').test('a gate has 900 s unless told otherwise, and no more than the run has left', async () => {
  const timeouts: number[] = [];
  const gates = manifest({
    N: node({
      A: block(['SUCCESS>JUMP:N__B'], { worker: 'Internal:TestRunner' }),
      B: block(['SUCCESS>JUMP:N__C'], { worker: 'Internal:RunLinter' }),
      C: block(['SUCCESS>RETURN'], { worker: 'Internal:RunBuilder', budget: { seconds: 5 } }),
    }),
  });
  const ended = {
    code: 0,
    signal: null,
    stdout: Buffer.alloc(0),
    stderr: Buffer.alloc(0),
    timedOut: false,
    truncated: false,
  };
  bench = new Bench({
    dir,
    ports: {
      runGate: async ({ timeoutMs }) => {
        timeouts.push(timeoutMs);
        return ended;
      },
    },
  });
  const command = (word: string) => ({ command: [word], from: 'roster' as const });
  const workers = { RunLinter: { timeout_s: 70 } };
  await bench.start({ ...gates, workers }, { gates: { test: command('t'), lint: command('l'), build: command('b') } });
  expect((await bench.settle()).outcome).toBe('success');
  expect(timeouts).toEqual([900_000, 70_000, 5_000]);
});

verifies('W-36').test('waiting for a person costs no seconds', async () => {
  const halting = manifest({ N: node({ A: block(['SUCCESS>HALT_AND_FLAG', 'RESUMED>RETURN']) }) });
  const clock = manualClock();
  bench = new Bench({ dir, clock });
  await bench.start(halting, { budget: { seconds: 100 } });
  const view = await bench.settle();
  await clock.advance(3_600_000);
  const after = await bench.answer(view, { verb: 'resume' });
  expect([after.outcome, after.budget.spent.seconds]).toEqual(['success', 2]);
});
