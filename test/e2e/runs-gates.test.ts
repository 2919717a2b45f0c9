import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
import { verifies } from '../support/verifies.ts';
import {
  ADDS,
  byBlock,
  done,
  leftovers,
  QUICK,
  RunsRig,
  SUBTRACTS,
  visitsOf,
  WRITES_IT_RIGHT,
  WRITES_IT_WRONG,
  writes,
} from './runs-rig.ts';

/** Gates decide: what fails is mended, what passed is merged, what nobody judged is not. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig();
  rig.write({ '.reef/workflows.yaml': QUICK });
  await rig.trust();
});
afterAll(() => rig.close());

const MENDS_IT = [writes('sum.mjs', ADDS), done('Mended.')];
const fallen = () => rig.git('reset', '-q', '--hard', 'HEAD~1');

verifies('W-07', 'W-42', 'W-43', 'W-44', 'W-60', 'W-62', 'W-65', 'W-66', 'W-80', 'T-30', 'T-33').test(
  'a test fails once, its log reaches the fixer, the gates pass, and accept merges',
  async () => {
    const agent = rig.world.script(
      'fails-once',
      byBlock({ Feature_Implement__GenerateCode: WRITES_IT_WRONG, Feature_Troubleshoot__FixCode: MENDS_IT }),
    );
    const ran = await rig.reef('run', 'full-gates', 'write sum', '--agent', agent, '--follow');
    const ended = [...ran.out.matchAll(/^\S (\w+(?:#\d)? {2}[a-z ]+)/gm)].map(([, line]) => line);
    expect([ran.code, ran.err, ended.slice(0, 7)]).toEqual([
      0,
      '',
      [
        'GenerateCode  success',
        'WriteArtifacts  success',
        'RunLinter  not configured',
        'RunBuilder  not configured',
        'RunTests  failed',
        'FixCode  success',
        'WriteArtifacts#2  success',
      ],
    ]);
    const { run, view } = await rig.settled('@last');
    expect([run.status, visitsOf(view).slice(-3)]).toEqual([
      'success',
      ['RunLinter#2 FAILURE', 'RunBuilder#2 FAILURE', 'RunTests#2 SUCCESS'],
    ]);
    const { jobId = '' } = view.executionLog['Feature_Troubleshoot__FixCode#1'] ?? {};
    const { calls } = await rig.world.client.call('calls', { job: jobId });
    const prompt = calls[0]?.request.prompt;
    for (const told of ['-1 !== 5', 'two and three make five', 'TEST_RESULT']) expect(prompt).toContain(told);
    expect(view.gates.map(({ gate, result }) => `${gate} ${result}`).slice(-3)).toEqual([
      'lint not_run',
      'build not_run',
      'test passed',
    ]);
    const accepted = await rig.reef('worktree', 'accept', '@last');
    expect([accepted.code, accepted.out.replace(/[0-9a-f]{12}/, 'C')]).toEqual([
      0,
      'merged as C\n  gate not run: lint\n  gate not run: build\n',
    ]);
    expect([
      rig.git('log', '-1', '--format=%s %an'),
      readFileSync(join(rig.world.repository, 'sum.mjs'), 'utf8'),
      rig.git('status', '--porcelain', '-uno'),
      leftovers(rig),
      existsSync(run.path ?? ''),
    ]).toEqual(['write sum The User', ADDS, '', [], false]);
    fallen();
  },
  90_000,
);

verifies('T-31').test(
  'a tree that changed after its gates is judged again',
  async () => {
    const agent = rig.world.script('right', byBlock({ Feature_Implement__GenerateCode: WRITES_IT_RIGHT }));
    const { runId } = await rig.start({ task: 'write sum', workflow: 'test-fix', agent });
    const { run } = await rig.settled(runId);
    writeFileSync(join(run.path ?? '', 'sum.mjs'), SUBTRACTS);
    const before = rig.git('rev-parse', 'main');
    const refused = await rig.reef('worktree', 'accept', run.worktree);
    expect([refused.code !== 0, /^gates_failed: .*-1 !== 5/s.test(refused.err), rig.git('rev-parse', 'main')]).toEqual([
      true,
      true,
      before,
    ]);
    writeFileSync(join(run.path ?? '', 'sum.mjs'), ADDS);
    expect((await rig.reef('worktree', 'accept', run.worktree)).code).toBe(0);
    fallen();
  },
  90_000,
);

verifies('T-31').test(
  'a run that ended in a home without stored verdicts is merged by what its journal says of its gates',
  async () => {
    const agent = rig.world.script('earlier', byBlock({ Quick__Write: WRITES_IT_RIGHT }));
    const { runId } = await rig.start({ task: 'write sum', workflow: 'Quick', agent });
    const { run } = await rig.settled(runId);
    await rig.world.stopDaemon();
    const database = openSqlite(rig.world.home.database);
    database.exec('DELETE FROM gate_verdict');
    database.close();
    const accepted = await rig.reef('worktree', 'accept', run.worktree);
    expect([accepted.code, accepted.err]).toEqual([0, '']);
    fallen();
  },
  90_000,
);

verifies('W-31', 'T-31').test(
  'a gate a person skipped is waived: accept says so and wants to hear yes',
  async () => {
    const agent = rig.world.script('wrong', byBlock({ Quick__Write: WRITES_IT_WRONG }));
    const { runId } = await rig.start({ task: 'write sum', workflow: 'Quick', agent });
    await rig.settled(runId);
    const skipped = await rig.reef('run', 'skip', runId, 'the test is wrong');
    expect([skipped.code, skipped.err]).toEqual([0, '']);
    const { run, view } = await rig.settled(runId);
    const gates = view.gates.map(({ gate, result }) => `${gate} ${result}`);
    expect([run.status, gates]).toEqual(['success', ['test failed', 'test waived']]);
    const refused = await rig.reef('worktree', 'accept', run.worktree);
    expect([refused.code !== 0, refused.err]).toEqual([
      true,
      expect.stringMatching(/^accept_needs_consent: .*waived.*test/is),
    ]);
    const accepted = await rig.reef('worktree', 'accept', run.worktree, '--yes');
    expect([accepted.code, accepted.out]).toEqual([0, expect.stringMatching(/waived.*test/i)]);
    fallen();
  },
  90_000,
);

verifies('T-16', 'T-31', 'X-17').test(
  'an agent that edits what judges it, or files nobody planned, is not merged without a yes',
  async () => {
    const weaker = '{"type":"module","scripts":{"test":"true"}}\n';
    const agent = rig.world.script(
      'cheats',
      byBlock({ Quick__Write: [writes('package.json', weaker), writes('extra.txt', 'x\n'), ...WRITES_IT_RIGHT] }),
    );
    const { runId } = await rig.start({ task: 'write sum', workflow: 'Quick', agent, plan: ['sum.mjs'] });
    const { run, view } = await rig.settled(runId);
    // The gate is the one frozen at the start: the weaker script judged nothing.
    expect([run.status, view.gates.map(({ result }) => result)]).toEqual(['success', ['passed']]);
    const refused = await rig.reef('worktree', 'accept', run.worktree);
    expect(refused.err).toMatch(/^accept_needs_consent: /);
    expect([refused.err.includes('package.json'), refused.err.includes('extra.txt')]).toEqual([true, true]);
    expect((await rig.reef('worktree', 'discard', run.worktree)).code).toBe(0);
  },
  90_000,
);
