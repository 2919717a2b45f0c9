import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { Bench, finished, ScriptedJobs, SPENT } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node, to } from '../../../test/support/workflow/walk.ts';
import { afterNews } from '../../protocol/differences.ts';
import { type RunView, runViewSchema, type WorkflowManifest } from '../../protocol/workflow.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import { type JournalEntry, journalBlobs } from '../durable/journal.ts';
import { ToldViews } from '../runs/told-views.ts';
import { WorkflowRuns } from '../runs/workflow-runs.ts';
import { RunFold } from './run-fold.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const AT = '2026-01-01T00:00:00.000Z';
const cycle: WorkflowManifest = {
  workers: { reader: { agent: 'claude', readonly: true } },
  ...manifest({
    Main: node({
      Write: block(['SUCCESS>JUMP:Main__Test'], { worker: 'Agent:reader' }),
      Test: block(['SUCCESS>RETURN', 'FAILURE>CALL:Fix'], { worker: 'Internal:TestRunner' }),
    }),
    Fix: node({ Go: block(['SUCCESS>RETURN', 'FAIL_DEFAULT>HALT_AND_FLAG'], { worker: 'Agent:reader' }) }),
    Unused: node({ X: block(['SUCCESS>RETURN']) }),
  }),
};

verifies('W-80').test(
  'the view tells graph, statuses, path, visits and a log in which no iteration overwrites another',
  async () => {
    let tests = 0;
    const ended = {
      signal: null,
      stdout: Buffer.from('log'),
      stderr: Buffer.alloc(0),
      timedOut: false,
      truncated: false,
    };
    const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS'));
    const captures = {
      now: async () => ({ commit: 'commit', tree: `tree-${tests}` }),
      treeId: async () => `tree-${tests}`,
      changedFiles: async () => [],
      checkpoint: () => Promise.reject(new Error('nobody writes')),
    };
    const bench = new Bench({
      dir,
      clock: manualClock(),
      jobs,
      ports: { captures, runGate: async () => ({ ...ended, code: tests++ === 0 ? 1 : 0 }) },
    });
    await bench.start(cycle, { gates: { test: { command: ['t'], from: 'roster' } } });
    const view = await bench.settle();
    const segment = (key: string, type: string, head: string) => ({
      id: `main/${key}/1`,
      type,
      timestamp: AT,
      bytes: head.length,
      head,
    });
    const at = (id: string, visit: number) => ({ block: id, visit, branch: 'main' });
    const agent = (id: string, visit: number, jobId: string) => ({
      ...at(id, visit),
      worker: 'Agent:reader',
      status: 'complete',
      signal: 'SIGNAL:SUCCESS',
      endedAt: AT,
      jobId,
      prompt: expect.arrayContaining([expect.objectContaining({ section: 'Task' })]),
      spent: SPENT,
      segments: [segment(`${id}#${visit}`, 'AGENT_OUTPUT', 'did it')],
    });
    const gate = (visit: number, outcome: 'PASS' | 'FAIL') => ({
      ...at('Main__Test', visit),
      worker: 'Internal:TestRunner',
      status: outcome === 'PASS' ? 'complete' : 'failed',
      signal: outcome === 'PASS' ? 'SIGNAL:SUCCESS' : 'SIGNAL:FAILURE',
      endedAt: AT,
      tree: `tree-${visit - 1}`,
      exit: { code: outcome === 'PASS' ? 0 : 1, timedOut: false },
      took: { setUp: 0, gate: 0 },
      spent: { tokens: 0, turns: 0, seconds: 0, usd: 0 },
      segments: [{ ...segment(`Main__Test#${visit}`, 'TEST_RESULT', 'log'), outcome }],
    });
    const wanted: RunView = {
      runId: 'run',
      seq: 11,
      task: 'the task',
      outcome: 'success',
      graph: {
        nodeId: 'Main',
        blocks: ['Main__Write', 'Main__Test', 'Fix__Go'],
        transitions: [
          { from: 'Main__Write', to: 'Main__Test', signal: 'SIGNAL:SUCCESS' },
          { from: 'Main__Test', to: 'RETURN', signal: 'SIGNAL:SUCCESS' },
          { from: 'Main__Test', to: 'Fix__Go', signal: 'SIGNAL:FAILURE', back: 'Main__Test' },
          { from: 'Fix__Go', to: 'RETURN', signal: 'SIGNAL:SUCCESS' },
          { from: 'Fix__Go', to: 'HALT_AND_FLAG', signal: 'SIGNAL:FAIL_DEFAULT' },
        ],
      },
      statuses: { Main__Write: 'complete', Main__Test: 'complete', Fix__Go: 'complete' },
      position: null,
      path: [at('Main__Write', 1), at('Main__Test', 1), at('Fix__Go', 1), at('Main__Test', 2)],
      lastTransition: { from: 'Main__Test', to: 'RETURN', signal: 'SIGNAL:SUCCESS' },
      visits: { Main__Write: 1, Main__Test: 2, Fix__Go: 1 },
      returnStack: [],
      isHalted: false,
      halts: [],
      budget: { limit: {}, spent: { tokens: 20, turns: 2, seconds: 4, usd: 1 }, warned: [] },
      stats: { filesWritten: 0, linesWritten: 0, segments: 4 },
      gates: [
        { ...at('Main__Test', 1), gate: 'test', result: 'failed', tree: 'tree-0', key: expect.any(String) },
        { ...at('Main__Test', 2), gate: 'test', result: 'passed', tree: 'tree-1', key: expect.any(String) },
      ],
      events: [],
      executionLog: {
        'Main__Write#1': agent('Main__Write', 1, 'job-1'),
        'Main__Test#1': gate(1, 'FAIL'),
        'Fix__Go#1': agent('Fix__Go', 1, 'job-2'),
        'Main__Test#2': gate(2, 'PASS'),
      } as RunView['executionLog'],
    };
    expect(view).toEqual(wanted);
    expect(runViewSchema.parse(view)).toEqual(view);
    await bench.close();
  },
);

verifies('W-80', 'W-13').test('in a subroutine the view shows where RETURN will lead', async () => {
  const jobs = new ScriptedJobs(({ spec }) =>
    spec.run.block === 'Fix__Go' ? finished('SIGNAL:FAILURE') : finished('SIGNAL:SUCCESS'),
  );
  const bench = new Bench({ dir, jobs });
  await bench.start(cycle, { gates: { test: { command: ['/bin/false'], from: 'roster' } } });
  const view = await bench.settle();
  expect([view.returnStack, view.position, view.statuses]).toEqual([
    ['Main__Test'],
    { block: 'Fix__Go', visit: 1, branch: 'main' },
    { Main__Write: 'complete', Main__Test: 'failed', Fix__Go: 'halted' },
  ]);
  await bench.close();
});

describe('live and rebuilt', () => {
  const branchy: WorkflowManifest = {
    workers: { r: { agent: 'claude', readonly: true } },
    ...manifest({
      N: node({
        A: block(['S0>JUMP:N__B', 'S1>CALL:M', 'S2>FORK:M,M:N__B', 'FAIL_DEFAULT>HALT_AND_FLAG'], {
          worker: 'Agent:r',
        }),
        B: block(['S0>RETURN', 'S1>JUMP:N__A', 'S2>HALT_AND_FLAG', 'FAIL_DEFAULT>RETURN'], { worker: 'Agent:r' }),
      }),
      M: node({
        X: block(['S0>RETURN', 'S1>JUMP:M__Y', 'S2>HALT_AND_FLAG'], { worker: 'Agent:r' }),
        Y: block(['FAIL_DEFAULT>RETURN', to('S1>CALL:M:M__Y')], { worker: 'Agent:r' }),
      }),
    }),
  };
  const VERBS = ['resume', 'retry', 'skip', 'abort'] as const;
  const answerAll = async (bench: Bench, id: string, verbs: number[]) => {
    let view = await bench.settle(id);
    for (let k = 0; view.isHalted && k < 12; k++) {
      const verb = k === 11 ? 'abort' : (VERBS[verbs[k % verbs.length] ?? 0] ?? 'abort');
      for (const halt of view.halts) {
        const { block: at, visit, branch } = halt;
        await bench.runs.answer(id, { block: at, visit, branch, verb }).catch(() => undefined);
      }
      view = await bench.settle(id);
    }
  };

  verifies('W-81', 'W-84').test(
    'at every entry of random runs the view rebuilt from the journal equals the live one, and a replay ends the same',
    async () => {
      let runs = 0;
      let entriesSeen = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
          fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }),
          async (signals, verbs) => {
            const live = new RunFold(`r${++runs}`, { get: () => Buffer.alloc(0) });
            const views: RunView[] = [];
            const told: JournalEntry[] = [];
            let n = 0;
            const jobs = new ScriptedJobs(() =>
              finished(signals[n] === 3 ? 'SIGNAL:FAILURE' : `SIGNAL:S${signals[n++ % signals.length]}`),
            );
            const bench = new Bench({
              dir: join(dir, `r${runs}`),
              jobs,
              onEntry(_, entry) {
                told.push(entry);
                live.apply(entry);
                views.push(live.view());
              },
            });
            const id = `r${runs}`;
            await bench.start(branchy, {}, id);
            await answerAll(bench, id, verbs);
            await bench.engine.cancel(id, 'enough');
            const entries = await bench.entries(id);
            const replay = await bench.runs.replay(id);
            await bench.close();
            const rebuilt = new RunFold(id, { get: () => Buffer.alloc(0) });
            const again = entries.map((entry) => {
              rebuilt.apply(entry);
              return rebuilt.view();
            });
            entriesSeen += entries.length;
            expect(told).toEqual(entries);
            expect(views).toEqual(again);
            expect(replay.isSame).toBe(true);
            for (const each of views) runViewSchema.parse(each);
            // A follower is told by JSON, of some states only, and by a daemon that may have forgotten what it knows.
            const follower = new ToldViews();
            let seen: RunView | undefined;
            for (const [at, view] of views.entries()) {
              if (signals[at % signals.length] === 1) continue;
              const after = at % 11 === 7 ? 0 : (seen?.seq ?? 0);
              seen = afterNews(seen, JSON.parse(JSON.stringify(follower.since(id, after, view))));
              expect(seen).toEqual(JSON.parse(JSON.stringify(view)));
            }
          },
        ),
        { numRuns: 60 },
      );
      expect(entriesSeen).toBeGreaterThan(1_000);
    },
    60_000,
  );
});

describe('replay', () => {
  const recorded = async () => {
    const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS'));
    const bench = new Bench({ dir, jobs });
    await bench.start(cycle, { gates: { test: { command: ['/bin/true'], from: 'roster' } } });
    await bench.settle();
    return { bench, jobs };
  };

  verifies('W-84').test('walks the recorded results, starts nothing and reaches the same end', async () => {
    const { bench, jobs } = await recorded();
    const before = [jobs.specs.length, (await bench.entries()).length];
    const replay = await bench.runs.replay('run');
    expect([replay, [jobs.specs.length, (await bench.entries()).length]]).toEqual([
      { walked: 'success', recorded: 'success', isSame: true },
      before,
    ]);
    await bench.close();
  });

  verifies('W-84').test('a journal that leads elsewhere is told apart', async () => {
    const { bench } = await recorded();
    const entries = await bench.entries();
    const engine = {
      async *history() {
        for (const entry of entries) {
          const isTest = entry.kind === 'step' && entry.key === 'main/Main__Test#1';
          yield isTest
            ? {
                ...entry,
                data: { ...entry.data, value: { ...(entry.data.value as object), signal: 'SIGNAL:OTHER' } as never },
              }
            : entry;
        }
      },
    } as unknown as DurableEngine;
    const runs = new WorkflowRuns({ engine, blobs: journalBlobs(bench.store), clock: manualClock(), newId: () => 'x' });
    expect(await runs.replay('run')).toEqual({ walked: undefined, recorded: 'success', isSame: false });
    await bench.close();
  });

  test('a run that stands still because its journal does not fit is broken until it goes on', () => {
    const fold = new RunFold('r', { get: () => Buffer.alloc(0) });
    const input = {
      runId: 'r',
      task: 't',
      node: 'Main',
      manifest: cycle,
      gates: {},
      worktree: { id: 'w', path: '/w' },
      stepping: false,
      autoResume: false,
    };
    fold.apply({ n: 1, at: AT, kind: 'start', key: '', data: { value: input as never } });
    fold.apply({ n: 2, at: AT, kind: 'mismatch', key: '', data: {} });
    const broken = fold.view().outcome;
    fold.apply({ n: 3, at: AT, kind: 'step', key: 'begin', data: { value: null } });
    expect([broken, fold.view().outcome, fold.view().position]).toEqual([
      'broken',
      'running',
      { block: 'Main__Write', visit: 1, branch: 'main' },
    ]);
    fold.apply({
      n: 4,
      at: AT,
      kind: 'end',
      key: '',
      data: { status: 'failed', error: { code: 'internal', message: 'x' } },
    });
    expect(fold.view().outcome).toBe('broken');
    expect(() => new RunFold('r', { get: () => Buffer.alloc(0) }).view()).toThrow('does not begin with a start');
  });
});
