import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { type AgentScript, Bench, finished, ScriptedJobs } from '../../../test/support/workflow/run-bench.ts';
import type { RunView } from '../../protocol/workflow.ts';
import { checkManifest, runnableManifest } from '../manifest/check-manifest.ts';
import type { GateCommand, GateCommands } from '../project/gate-commands.ts';
import { chooseStart } from '../runs/plan.ts';
import { DEFAULT_SHIPPED, SHIPPED, type ShippedName, shippedWorkflow } from './shipped.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const agents = { claude: { reportsCost: true } };
const TESTS = [
  '/bin/sh',
  '-c',
  'grep -q right answer.txt && echo "1 passed" || { echo "AssertionError: $(cat answer.txt)"; exit 1; }',
];

/** The agent writes what the list says, try by try, into the worktree itself. */
function workflow(
  name: ShippedName,
  answers: string[],
  gates: GateCommands = { test: { command: TESTS, from: 'configuration' } },
) {
  const { manifest } = runnableManifest(shippedWorkflow(name), { agents });
  let n = 0;
  const script: AgentScript = () => {
    writeFileSync(join(dir, 'worktree/answer.txt'), answers[n++] ?? 'right');
    return finished('SIGNAL:SUCCESS');
  };
  const jobs = new ScriptedJobs(script);
  const bench = new Bench({ dir, jobs });
  const start = () =>
    bench.start(manifest, { node: chooseStart(manifest) ?? '', gates, task: 'write the right answer' });
  return { bench, jobs, start };
}

const short = ({ path }: RunView) => path.map(({ block, visit }) => `${block.replace(/^.*__/, '')}#${visit}`);

for (const name of SHIPPED) {
  verifies('W-66', 'W-09').test(`${name} has no finding, errors and warnings alike`, () => {
    expect(checkManifest(shippedWorkflow(name), { agents, strict: true }).findings).toEqual([]);
  });
}

verifies('W-66').test('the default is full-gates', () => expect(DEFAULT_SHIPPED).toBe('full-gates'));

verifies('W-66').test(
  'test-fix: a failure reaches FixCode with the log, its SUCCESS leads to WriteArtifacts, then all is green',
  async () => {
    const { bench, jobs, start } = workflow('test-fix', ['wrong', 'right']);
    await start();
    const view = await bench.settle();
    expect(short(view)).toEqual([
      'GenerateCode#1',
      'WriteArtifacts#1',
      'RunTests#1',
      'FixCode#1',
      'WriteArtifacts#2',
      'RunTests#2',
    ]);
    const fix = jobs.specs.find(({ run }) => run.block === 'Feature_Troubleshoot__FixCode');
    expect([
      view.outcome,
      fix?.prompt.includes('AssertionError: wrong'),
      readFileSync(join(dir, 'worktree/answer.txt'), 'utf8'),
    ]).toEqual(['success', true, 'right']);
    expect(view.gates.map(({ gate, result }) => `${gate} ${result}`)).toEqual(['test failed', 'test passed']);
    expect(view.gates.at(-1)?.tree).toBe(view.executionLog['Core_IO__WriteArtifacts#2']?.tree);
    await bench.close();
  },
);

verifies('W-66').test('test-fix: the fourth failure asks a person', async () => {
  const { bench, start } = workflow('test-fix', ['a', 'b', 'c', 'd']);
  await start();
  const view = await bench.settle();
  expect(short(view).filter((each) => /RunTests|FixCode/.test(each))).toEqual([
    'RunTests#1',
    'FixCode#1',
    'RunTests#2',
    'FixCode#2',
    'RunTests#3',
    'FixCode#3',
    'RunTests#4',
  ]);
  expect([view.isHalted, view.halt?.reason, view.halt?.block]).toEqual([
    true,
    'visits_exhausted',
    'Feature_Troubleshoot__FixCode',
  ]);
  const retried = await bench.answer(view, { verb: 'retry', guidance: 'it is the word right' });
  expect([retried.outcome, retried.visits.Feature_Troubleshoot__FixCode]).toEqual(['success', 4]);
  await bench.close();
});

verifies('W-66').test('test-fix without a test command asks a person and no agent', async () => {
  const { bench, jobs, start } = workflow('test-fix', ['right'], {});
  await start();
  const view = await bench.settle();
  expect([view.halt?.reason, view.halt?.block, jobs.specs.length]).toEqual([
    'halted_by_workflow',
    'Core_Validate__RunTests',
    1,
  ]);
  await bench.close();
});

verifies('W-66').test(
  'full-gates: linter and builder come first, and are passed over where there are none',
  async () => {
    const { bench, start } = workflow('full-gates', ['right']);
    await start();
    const view = await bench.settle();
    expect([view.outcome, view.gates.map(({ gate, result }) => `${gate} ${result}`)]).toEqual([
      'success',
      ['lint not_run', 'build not_run', 'test passed'],
    ]);
    await bench.close();
  },
);

verifies('W-66').test('full-gates: a lint failure is mended before anything is built', async () => {
  const lint: GateCommand = {
    command: ['/bin/sh', '-c', 'grep -q tidy answer.txt || { echo \'[{"errorCount":1}]\'; exit 1; }'],
    from: 'roster',
  };
  const build: GateCommand = { command: ['/bin/sh', '-c', 'test -f answer.txt'], from: 'roster' };
  const gates: GateCommands = { lint, build, test: { command: TESTS, from: 'roster' } };
  const { bench, jobs, start } = workflow('full-gates', ['right but ugly', 'right and tidy'], gates);
  await start();
  const view = await bench.settle();
  expect([view.outcome, view.gates.slice(0, 4).map(({ gate, result }) => `${gate} ${result}`)]).toEqual([
    'success',
    ['lint failed', 'lint passed', 'build passed', 'test passed'],
  ]);
  expect(jobs.specs[1]?.prompt).toContain('"errorCount": 1');
  await bench.close();
});
