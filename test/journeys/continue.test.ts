import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import {
  ADDS,
  byBlock,
  leftovers,
  QUICK,
  RunsRig,
  SUBTRACTS,
  WRITES_IT_RIGHT,
  WRITES_IT_WRONG,
} from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Whatever became of a run, it goes on with one command; gates that need a set-up judge again. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig();
  rig.commit({ '.reef/workflows.yaml': QUICK, '.gitignore': 'ready\n' }, 'workflow');
  const setup = 'test ! -e "$REEF_ROOT/.broken" && touch ready';
  rig.write({ '.reef/config.yaml': `worktree: { setup: [sh, -c, '${setup}'] }\n` });
  await rig.trust();
});
afterAll(() => rig.close());

/** Its first turn is wrong; told more, it does what was asked. */
const LISTENS = [{ choose: [{ when: 'Please add', steps: WRITES_IT_RIGHT }, { steps: WRITES_IT_WRONG }] }];
const run = (agent: string, ...more: string[]) => rig.reef('run', 'Quick', 'Write sum', '--agent', agent, ...more);

verifies('J-33').test(
  'a run that was aborted, one that halted and one that succeeded go on with guidance, and are merged',
  async () => {
    const agent = rig.world.script('listens', { steps: LISTENS, onResume: LISTENS });
    const halted = await run(agent, '--follow');
    expect(halted.code).toBe(3);
    const first = (await rig.settled('@last')).run;
    expect((await rig.reef('run', 'abort', '@last')).code).toBe(0);
    const goesOn = await rig.reef('run', 'continue', first.runId, 'Please add, do not subtract', '--follow');
    expect([goesOn.err, goesOn.code]).toEqual(['', 0]);
    const second = (await rig.settled('@last')).run;
    expect(second).toMatchObject({ worktree: first.worktree, continues: first.runId, status: 'success' });
    expect((await rig.look(first.runId)).runs[0]).toMatchObject({ continuedBy: second.runId, status: 'aborted' });
    // It ended well and was not merged: another wish.
    const again = await rig.reef('run', 'continue', first.worktree, 'Please add a file', '--follow');
    expect([again.err, again.code]).toEqual(['', 0]);
    expect(readFileSync(join(second.path ?? '', 'sum.mjs'), 'utf8')).toBe(ADDS);
    const accepted = await rig.reef('worktree', 'accept', second.worktree);
    expect([accepted.err, accepted.code, rig.git('show', 'main:sum.mjs')]).toEqual(['', 0, ADDS.trim()]);
    const late = await rig.reef('run', 'continue', second.runId, 'more');
    expect([late.code, late.err]).toEqual([1, expect.stringMatching(/is merged\. Start a new task: reef run/)]);
    // A run that halted is resumed, in the same run.
    rig.commit({ 'sum.mjs': SUBTRACTS }, 'wrong again');
    const asks = await run(agent, '--follow');
    expect(asks.code).toBe(3);
    const third = (await rig.settled('@last')).run;
    const resumed = await rig.reef('run', 'continue', third.runId, 'Please add', '--follow');
    expect([resumed.err, resumed.code, (await rig.settled('@last')).run.runId]).toEqual(['', 0, third.runId]);
    // What was told before it halted is not told again.
    expect(resumed.out.match(/^▶ .*/gm)).toEqual(['▶ Write#2', '▶ Test#2']);
    await rig.clear();
    expect(leftovers(rig)).toEqual([]);
  },
  240_000,
);

verifies('J-33').test(
  'a run whose worktree could not be set up goes on after the cause is mended, and one that was discarded comes back',
  async () => {
    rig.git('rm', '-q', '--ignore-unmatch', 'sum.mjs');
    rig.git('commit', '-q', '--allow-empty', '-m', 'without sum');
    rig.write({ '.broken': '' });
    const steps = byBlock({ Quick__Write: WRITES_IT_RIGHT });
    const right = rig.world.script('right', { steps, onResume: steps });
    const broken = await run(right, '--follow');
    expect([broken.code, broken.out + broken.err]).toEqual([3, expect.stringContaining('reef run retry')]);
    rig.git('clean', '-fq', '.broken');
    const goesOn = await rig.reef('run', 'continue', '@last', '--follow');
    expect([goesOn.err, goesOn.code]).toEqual(['', 0]);
    const { worktree, path } = (await rig.settled('@last')).run;
    await rig.reef('worktree', 'discard', worktree);
    expect(existsSync(path ?? '')).toBe(false);
    const back = await rig.reef('run', 'continue', '@last', 'Please look again', '--follow');
    expect([back.err, back.code, existsSync(path ?? '')]).toEqual(['', 0, true]);
    await rig.clear();
  },
  240_000,
);
