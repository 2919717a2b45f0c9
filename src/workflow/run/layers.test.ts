import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { Bench, finished, ScriptedJobs } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node } from '../../../test/support/workflow/walk.ts';
import { ReefError } from '../../protocol/errors.ts';
import { findGateCommands } from '../project/gate-commands.ts';

let dir: string;
let bench: Bench;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => bench.close());

const file = (path: string) => join(dir, 'worktree', path);

verifies('W-10').test(
  'files are read anew at each visit: those the block names, and those write segments name',
  async () => {
    const twice = manifest({
      N: node({
        A: block(['SUCCESS>JUMP:N__A', 'DONE>RETURN'], {
          artifacts: ['notes.md', 'absent.md', '../outside'],
          context: ['map:.'],
          context_budget: 500,
        }),
      }),
    });
    const jobs = new ScriptedJobs(({ spec }) => {
      if (spec.run.visit === 2) return finished('SIGNAL:DONE');
      writeFileSync(file('notes.md'), 'second version');
      writeFileSync(file('made.ts'), 'export const made = true;');
      return finished('SIGNAL:SUCCESS', {
        segments: [{ type: 'CODE_OUTPUT', content: { filePath: 'made.ts', fileContent: 'x' } }],
      });
    });
    const asked: unknown[] = [];
    bench = new Bench({
      dir,
      jobs,
      ports: {
        async codeContext(request) {
          asked.push(request);
          return { text: 'the map of the code', degraded: [] };
        },
      },
    });
    writeFileSync(file('notes.md'), 'first version');
    await bench.start(twice);
    expect((await bench.settle()).outcome).toBe('failure');
    const [first = '', second = ''] = jobs.specs.map(({ prompt }) => prompt);
    expect([
      first.includes('first version'),
      first.includes('second version'),
      second.includes('second version'),
      second.includes('export const made = true;'),
    ]).toEqual([true, false, true, true]);
    expect([
      first.includes('### absent.md\n\n(cannot be shown'),
      first.includes('### ../outside\n\n(cannot be shown'),
      first.includes('the map of the code'),
    ]).toEqual([true, true, true]);
    expect(asked[0]).toEqual({
      slices: ['map:.'],
      budget: 500,
      worktreePath: bench.worktree,
      task: 'the task',
      args: {},
    });
  },
);

verifies('C-103').test(
  'a slice that cannot be had is an event of the run, also after a restart; a required one halts it by its name',
  async () => {
    const nodes = manifest({ N: node({ A: block(['SUCCESS>RETURN'], { context: ['file:no/such.txt'] }) }) });
    const missing = { slice: 'file:no/such.txt', code: 'file_not_found', message: 'There is no file no/such.txt.' };
    let isRequired = true;
    const ports = {
      async codeContext() {
        if (isRequired) throw new ReefError('context_unavailable', 'The slice file:no/such.txt is required.');
        return { text: '(not available)', degraded: [missing] };
      },
    };
    bench = new Bench({ dir, ports });
    await bench.start(nodes);
    const halted = await bench.settle();
    expect([halted.events, halted.halt?.reason, halted.halt?.message, halted.halt?.options.includes('retry')]).toEqual([
      [],
      'context_unavailable',
      'The slice file:no/such.txt is required.',
      true,
    ]);
    isRequired = false;
    const done = await bench.answer(halted, { verb: 'retry' });
    const event = {
      type: 'context_degraded',
      block: 'N__A',
      visit: 2,
      branch: 'main',
      at: expect.any(String),
      ...missing,
    };
    expect([done.outcome, done.events]).toEqual(['success', [event]]);
    await bench.close();
    bench = new Bench({ dir, ports });
    expect(await bench.runs.view('run')).toEqual(done);
  },
);

verifies('W-12', 'W-11').test(
  'a worker that passes everything on adds nothing: projections are not payload',
  async () => {
    const merging = {
      worker: 'Internal:FileSystemWriter',
      payload_merge_strategy: ['MERGE:STATIC_MEMORY:rule', 'DROP:AGENT_OUTPUT'],
      max_visits: 20,
    };
    const nodes = manifest({
      N: node(
        {
          A: block(['SUCCESS>JUMP:N__B']),
          B: block(['SUCCESS>JUMP:N__C'], merging),
          C: block(['SUCCESS>JUMP:N__B', 'DONE>RETURN'], { max_visits: 20 }),
        },
        { static_memory: { rule: 'tabs' } },
      ),
    });
    const jobs = new ScriptedJobs(({ spec }) => finished(spec.run.visit === 8 ? 'SIGNAL:DONE' : 'SIGNAL:SUCCESS'));
    bench = new Bench({ dir, jobs });
    await bench.start(nodes);
    const view = await bench.settle();
    const made = Object.values(view.executionLog).reduce((sum, { segments }) => sum + segments.length, 0);
    expect([view.visits, view.stats.segments, made]).toEqual([{ N__A: 1, N__B: 8, N__C: 8 }, 9, 9]);
    // What B did not show is still there for C.
    expect(jobs.specs.at(-1)?.prompt.match(/### AGENT_OUTPUT/g)?.length).toBe(8);
  },
);

verifies('W-03', 'X-17').test(
  'manifest and gates are frozen in the journal: what an agent writes into its worktree changes neither',
  async () => {
    const cheat = JSON.stringify({ scripts: { test: 'true' } });
    const gates = await findGateCommands({
      workers: undefined,
      configured: { test: { command: ['/bin/sh', '-c', 'echo honest; exit 1'] } },
      readProject: async () => cheat,
    });
    const nodes = manifest({
      N: node({
        A: block(['SUCCESS>JUMP:N__T']),
        T: block(['FAILURE>HALT_AND_FLAG', 'SUCCESS>RETURN'], { worker: 'Internal:TestRunner' }),
      }),
    });
    const jobs = new ScriptedJobs(() => {
      mkdirSync(file('.reef'), { recursive: true });
      writeFileSync(
        file('.reef/workflows.json'),
        JSON.stringify({ N: { entry_block: 'N__A', context_inheritance: true, blocks: {} } }),
      );
      writeFileSync(file('package.json'), cheat);
      return finished('SIGNAL:SUCCESS');
    });
    bench = new Bench({ dir, jobs });
    await bench.start(nodes, { gates });
    const halted = await bench.settle();
    await bench.close();
    bench = new Bench({ dir, jobs });
    await bench.engine.recover();
    const again = await bench.answer(halted, { verb: 'retry' });
    expect([halted.halt?.excerpt, again.halt?.excerpt, again.gates.map(({ result }) => result)]).toEqual([
      'honest\n',
      'honest\n',
      ['failed', 'failed'],
    ]);
    const [start] = await bench.entries();
    expect(start?.data.value).toMatchObject({
      manifest: nodes,
      gates: { test: { command: ['/bin/sh', '-c', 'echo honest; exit 1'], from: 'configuration' } },
    });
  },
);

verifies('W-50', 'W-52').test('an old CODE_OUTPUT never overwrites a later fix', async () => {
  const nodes = manifest({
    N: node({
      A: block(['SUCCESS>JUMP:N__W']),
      W: block(['SUCCESS>JUMP:N__F'], { worker: 'Internal:FileSystemWriter' }),
      F: block(['SUCCESS>JUMP:N__W', 'DONE>RETURN']),
    }),
  });
  const jobs = new ScriptedJobs(({ spec: { run } }) => {
    if (run.block === 'N__A')
      return finished('SIGNAL:SUCCESS', {
        segments: [{ type: 'CODE_OUTPUT', content: { filePath: 'a.ts', fileContent: 'the first try' } }],
      });
    if (run.visit === 2) return finished('SIGNAL:DONE');
    writeFileSync(file('a.ts'), 'mended by hand');
    return finished('SIGNAL:SUCCESS');
  });
  bench = new Bench({ dir, jobs });
  await bench.start(nodes);
  const view = await bench.settle();
  expect([view.stats.filesWritten, view.executionLog['N__F#2']?.segments.map(({ type }) => type)]).toEqual([
    1,
    ['AGENT_OUTPUT'],
  ]);
  expect(view.executionLog['N__W#2']?.status).toBe('complete');
  expect(jobs.specs.at(-1)?.prompt).toContain('mended by hand');
});

verifies('X-17', 'J-10').test('an agent cannot say in the name of a gate that nothing new fails', async () => {
  const nodes = manifest({
    N: node({
      A: block(['SUCCESS>JUMP:N__T']),
      T: block(['FAILURE>HALT_AND_FLAG', 'SUCCESS>RETURN'], { worker: 'Internal:TestRunner' }),
    }),
  });
  const content = { gate: 'test', tree: 'tree', isNew: false, already: ['all of it'], fresh: [] };
  const jobs = new ScriptedJobs(() => finished('SIGNAL:SUCCESS', { segments: [{ type: 'ALREADY_FAILING', content }] }));
  const captures = {
    now: async () => ({ commit: 'commit', tree: 'tree' }),
    treeId: async () => 'tree',
    changedFiles: async () => [],
    checkpoint: async () => ({ commit: 'commit', tree: 'tree' }),
  };
  bench = new Bench({ dir, jobs, ports: { captures } });
  const command = ['/bin/sh', '-c', 'echo honest; exit 1'];
  await bench.start(nodes, { gates: { test: { command, from: 'configuration' } } });
  const view = await bench.settle();
  expect([view.isHalted, view.halt?.excerpt]).toEqual([true, 'honest\n']);
});
