import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { type AgentScript, Bench, finished, ScriptedJobs, SPENT } from '../../../test/support/workflow/run-bench.ts';
import { block, manifest, node } from '../../../test/support/workflow/walk.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json, RunView } from '../../protocol/workflow.ts';
import type { JobEnd } from './ports.ts';

let dir: string;
let bench: Bench;
beforeEach(() => {
  dir = temporaryFolder();
});
afterEach(() => bench.close());

const nodes = (
  more: object = {},
  transitions: string[] = ['SUCCESS>RETURN', 'REVIEW>RETURN', 'FAIL_DEFAULT>HALT_AND_FLAG'],
) => manifest({ N: node({ A: block(transitions, more) }, { static_memory: { style: 'tabs' } }) });
const said = (text: string): JobEnd => ({ how: 'completed', text, spent: SPENT });

async function runWith(
  script: AgentScript,
  workflow = nodes(),
  runId = 'run',
): Promise<{ view: RunView; jobs: ScriptedJobs }> {
  const jobs = new ScriptedJobs(script);
  bench = new Bench({ dir, jobs });
  await bench.start(workflow, {}, runId);
  return { view: await bench.settle(runId), jobs };
}
const segments = (view: RunView, key = 'N__A#1') =>
  view.executionLog[key]?.segments.map(({ type, head }) => [type, head]);

verifies('W-60').test('a visit spawns one job with its key, its prompt, its signals and a result schema', async () => {
  const { view, jobs } = await runWith(
    () => finished('SIGNAL:REVIEW', { newFiles: ['src/new.ts'] }),
    nodes({ instructions: 'write it' }),
  );
  expect(jobs.specs).toHaveLength(1);
  const [spec] = jobs.specs;
  expect(spec).toMatchObject({
    agent: 'claude',
    cwd: bench.worktree,
    worktreeId: 'w1',
    readonly: false,
    budget: { seconds: 3_600 },
    run: { runId: 'run', block: 'N__A', visit: 1, branch: 'main' },
    resultSchema: {
      properties: {
        signal: { enum: ['SIGNAL:SUCCESS', 'SIGNAL:REVIEW', 'SIGNAL:FAILURE'] },
        newFiles: { type: 'array' },
      },
      required: ['signal', 'summary'],
    },
  });
  for (const part of [
    'the task',
    'write it',
    'INHERITED_CONTEXT style',
    'SIGNAL:SUCCESS, SIGNAL:REVIEW, SIGNAL:FAILURE',
    'reef-result',
    'N__A, visit 1',
  ]) {
    expect(spec?.prompt).toContain(part);
  }
  expect([view.outcome, segments(view)]).toEqual([
    'failure',
    [
      ['AGENT_OUTPUT', 'did it'],
      ['NEW_FILES_IDENTIFIED', '["src/new.ts"]'],
    ],
  ]);
});

verifies('W-60', 'W-06').test('roster, agent and default decide who works', async () => {
  const all = manifest({
    N: node({
      A: block(['SUCCESS>JUMP:N__B'], { worker: 'Worker:CodeGenerator' }),
      B: block(['SUCCESS>JUMP:N__C'], { worker: 'Agent:codex' }),
      C: block(['SUCCESS>RETURN'], { worker: 'Agent:reviewer' }),
    }),
  });
  const workers = { reviewer: { agent: 'codex', model: 'large', readonly: true, persona: 'You review.' } };
  const { jobs } = await runWith(() => finished('SIGNAL:SUCCESS'), { ...all, workers });
  expect(jobs.specs.map(({ agent, model, readonly }) => ({ agent, model, readonly }))).toEqual([
    { agent: 'claude', model: undefined, readonly: false },
    { agent: 'codex', model: undefined, readonly: false },
    { agent: 'codex', model: 'large', readonly: true },
  ]);
  expect(jobs.specs[2]?.prompt).toContain('You review.');
});

describe('results', () => {
  verifies('W-62').test('a signal alone in the last line is the result, the text before it the output', async () => {
    const { view } = await runWith(() => said('All done.\nNothing left.\n\n**`SIGNAL:SUCCESS`**\n'));
    expect([view.outcome, segments(view)]).toEqual(['success', [['AGENT_OUTPUT', 'All done.\nNothing left.']]]);
  });

  verifies('W-63').test('no result: the same job is asked twice to correct itself, then VALIDATION_FAIL', async () => {
    const { view, jobs } = await runWith(() => said('I think SIGNAL:SUCCESS is near, but not yet.'));
    const fault = 'there is no result: neither a tool call, a fence nor a signal';
    expect([jobs.specs.length, view.halt?.reason, segments(view)]).toEqual([
      1,
      'halted_by_workflow',
      [
        ['AGENT_OUTPUT', 'I think SIGNAL:SUCCESS is near, but not yet.'],
        ['VALIDATION_ERROR', JSON.stringify({ faults: [fault] })],
      ],
    ]);
    expect((await bench.entries()).map(({ key }) => key)).toEqual([
      '',
      'begin',
      'main/N__A#1/job',
      'main/N__A#1/turn-1',
      'main/N__A#1/turn-2',
      'main/N__A#1/turn-3',
      'main/N__A#1',
      'main/halt-1',
    ]);
  });

  verifies('J-23').test('no result but changed files: the work goes on to the gates', async () => {
    const { view } = await runWith(({ spec }) => {
      writeFileSync(join(spec.cwd, 'sum.mjs'), 'export const sum = 1;\n');
      return said('I wrote sum.mjs.');
    });
    expect([view.outcome, segments(view)]).toEqual([
      'success',
      [
        ['AGENT_OUTPUT', 'I wrote sum.mjs.'],
        ['FILES_CHANGED', '["sum.mjs"]'],
      ],
    ]);
  });

  verifies('W-63').test('a correction that works is no failure, and was told every fault', async () => {
    const told: (string | undefined)[][] = [];
    const { view } = await runWith(({ turn, messages }) => {
      told.push(messages);
      return turn === 1
        ? said('```reef-result\n{"signal": "SIGNAL:MAYBE", "segments": [{"type": "x"}]}\n```')
        : finished('SIGNAL:SUCCESS');
    });
    expect([view.outcome, view.visits]).toEqual(['success', { N__A: 1 }]);
    const [message = ''] = told[1] ?? [];
    for (const fault of [
      'reef-result: signal',
      'reef-result: summary',
      'reef-result: segments.0.type',
      'reef-result: segments.0.content',
    ]) {
      expect(message).toContain(fault);
    }
  });

  verifies('W-63').test('a transition of its own on VALIDATION_FAIL decides instead', async () => {
    const own = ['SUCCESS>RETURN', 'VALIDATION_FAIL>JUMP:N__A', 'FAIL_DEFAULT>HALT_AND_FLAG'];
    const { view, jobs } = await runWith(
      ({ spec }) => (spec.run.visit === 1 ? said('hm') : finished('SIGNAL:SUCCESS')),
      nodes({}, own),
    );
    expect([view.outcome, jobs.specs.length, view.visits, jobs.specs[1]?.prompt.includes('VALIDATION_ERROR')]).toEqual([
      'success',
      2,
      { N__A: 2 },
      true,
    ]);
  });

  const codeOnly = nodes({ validationSchema: 'CodeOnly' }, ['SUCCESS>RETURN', 'VALIDATION_FAIL>HALT_AND_FLAG']);
  const both = nodes({ validationSchema: 'CodeAndExplanation' }, ['SUCCESS>RETURN', 'VALIDATION_FAIL>HALT_AND_FLAG']);
  verifies('W-63').test('content is checked against its schema after one outer fence is stripped', async () => {
    const good = await runWith(() => said('```ts\nconst a = 1;\n```\nSIGNAL:SUCCESS'), codeOnly);
    expect(segments(good.view)).toEqual([['AGENT_OUTPUT', 'const a = 1;']]);
    await bench.close();
    const bad = await runWith(() => said('\nSIGNAL:SUCCESS'), codeOnly, 'second');
    expect([bad.view.halt?.reason, segments(bad.view)?.[1]?.[1]]).toEqual([
      'halted_by_workflow',
      '{"faults":["last line: the code is empty"]}',
    ]);
  });

  verifies('W-63').test('CodeAndExplanation lists every fault of its JSON', async () => {
    const content = { code: '' };
    const { view } = await runWith(
      () => finished('SIGNAL:SUCCESS', { segments: [{ type: 'CODE_OUTPUT', content }] }),
      both,
    );
    expect(segments(view)?.[1]?.[1]).toBe(
      JSON.stringify({
        faults: [
          'structured output: code: the code is empty',
          'structured output: explanation: Invalid input: expected string, received undefined',
        ],
      }),
    );
  });
});

describe('ends of jobs', () => {
  verifies('W-64').test('an error is FAILURE and an ERROR segment', async () => {
    const { view } = await runWith(
      () => ({ how: 'error', code: 'agent_exit', message: 'it died', spent: SPENT }),
      nodes({}, ['FAILURE>RETURN']),
    );
    expect([view.outcome, segments(view)]).toEqual([
      'failure',
      [['ERROR', '{"code":"agent_exit","message":"it died","jobId":"job-1"}']],
    ]);
  });

  verifies('W-64', 'W-77').test('stale and killed jobs halt; retry starts another', async () => {
    const { view, jobs } = await runWith(({ spec }) =>
      spec.run.visit === 1
        ? { how: 'stale', message: 'its end was not seen', spent: SPENT }
        : finished('SIGNAL:SUCCESS'),
    );
    expect([view.halt?.reason, view.halt?.message, jobs.specs.length]).toEqual([
      'job_stale',
      'its end was not seen',
      1,
    ]);
    const retried = await bench.answer(view, { verb: 'retry' });
    expect([retried.outcome, jobs.specs.length]).toEqual(['success', 2]);
  });

  verifies('W-64').test('killed by a person halts', async () => {
    const { view } = await runWith(() => ({ how: 'killed', spent: SPENT }));
    expect([view.halt?.reason, view.halt?.message]).toEqual(['job_killed', 'The job job-1 was killed.']);
  });

  verifies('W-33').test('a job that cannot be started halts, and a passing fault is tried again', async () => {
    const clock = manualClock();
    let tries = 0;
    class Jobs extends ScriptedJobs {
      override async spawn(...args: Parameters<ScriptedJobs['spawn']>): Promise<string> {
        tries += 1;
        if (tries < 3) throw new ReefError('queue_full', 'wait');
        if (tries === 3) throw new ReefError('agent_not_installed', 'claude is not on PATH');
        return super.spawn(...args);
      }
    }
    bench = new Bench({ dir, clock, jobs: new Jobs(() => finished('SIGNAL:SUCCESS')) });
    await bench.start(nodes());
    for (const pause of [1_000, 2_000]) {
      await expect.poll(() => clock.sleeping()).toBe(1);
      await clock.advance(pause);
    }
    const view = await bench.settle();
    expect([tries, view.halt?.reason, view.halt?.message]).toEqual([3, 'worker_crashed', 'claude is not on PATH']);
    expect((await bench.answer(view, { verb: 'retry' })).outcome).toBe('success');
  });

  verifies('W-37').test(
    'a rate limit parks the run with its reset time; resume goes on with the same job',
    async () => {
      const { view, jobs } = await runWith(({ turn }) =>
        turn === 1
          ? { how: 'rate_limit', message: 'too many requests', resumeAt: '2026-01-01T05:00:00.000Z', spent: SPENT }
          : finished('SIGNAL:SUCCESS'),
      );
      expect([view.halt?.reason, view.halt?.resumeAt, view.visits, view.statuses]).toEqual([
        'rate_limit',
        '2026-01-01T05:00:00.000Z',
        {},
        { N__A: 'halted' },
      ]);
      const after = await bench.answer(view, { verb: 'resume' });
      expect([after.outcome, jobs.specs.length, after.visits, after.path.length]).toEqual([
        'success',
        1,
        { N__A: 1 },
        1,
      ]);
      // The job tells what it spent in all: twice told is not twice spent.
      expect(after.budget.spent).toEqual(SPENT);
    },
  );

  verifies('W-37').test('with auto-resume it goes on by itself when the limit is over', async () => {
    const clock = manualClock(new Date('2026-01-01T00:00:00.000Z'));
    const jobs = new ScriptedJobs(({ turn }) =>
      turn === 1
        ? { how: 'rate_limit', message: 'wait', resumeAt: '2026-01-01T00:01:00.000Z', spent: SPENT }
        : finished('SIGNAL:SUCCESS'),
    );
    bench = new Bench({ dir, clock, jobs });
    await bench.start(nodes(), { autoResume: true });
    expect((await bench.settle()).halt?.reason).toBe('rate_limit');
    await expect.poll(() => clock.sleeping()).toBe(1);
    await clock.advance(60_000);
    await bench.engine.result('run');
    expect((await bench.runs.view('run')).outcome).toBe('success');
  });
});

describe('claims and proof', () => {
  const expecting = nodes({ expects: 'changes' });

  verifies('W-65').test('what changed comes from the files, whatever the agent says', async () => {
    const { view } = await runWith(() => {
      writeFileSync(join(dir, 'worktree/b.txt'), 'x');
      writeFileSync(join(dir, 'worktree/a.txt'), 'x');
      return finished('SIGNAL:SUCCESS');
    }, expecting);
    expect([view.outcome, segments(view)?.[1]]).toEqual(['success', ['FILES_CHANGED', '["a.txt","b.txt"]']]);
    expect(view.executionLog['N__A#1']?.checkpoint).toMatch(/^commit-of-/);
  });

  verifies('W-65').test(
    'changes expected and none made is NO_CHANGES: "done" without a commit is not done',
    async () => {
      const { view } = await runWith(() => finished('SIGNAL:SUCCESS'), expecting);
      expect([view.executionLog['N__A#1']?.signal, view.halt?.reason]).toEqual([
        'SIGNAL:NO_CHANGES',
        'halted_by_workflow',
      ]);
    },
  );

  verifies('W-65').test('a write segment counts as a change, and an honest FAILURE stays one', async () => {
    const segment = { type: 'CODE_OUTPUT', content: { filePath: 'a', fileContent: 'b' } as Json };
    const wrote = await runWith(() => finished('SIGNAL:SUCCESS', { segments: [segment] }), expecting);
    expect(wrote.view.outcome).toBe('success');
    await bench.close();
    const failed = await runWith(() => finished('SIGNAL:FAILURE'), expecting, 'second');
    expect(failed.view.executionLog['N__A#1']?.signal).toBe('SIGNAL:FAILURE');
  });
});
