import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, leftovers, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
beforeAll(async () => {
  // One of its agents commits to the user's own checkout, which no sandbox allows.
  rig.world.configure({ reef: { timings: { linger: 0 }, sandbox: 'off' } });
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
});
afterAll(() => rig.close());

const follow = (task: string, agent: string) =>
  rig.reef('run', 'Quick', task, '--agent', agent, '--accept', '--follow');

verifies('J-34').test(
  'who follows a run that is to be merged gets back after the merge, and the exit code tells whether it is in',
  async () => {
    const right = rig.world.script('right', byBlock({ Quick__Write: WRITES_IT_RIGHT }));
    const merged = await follow('Add up', right);
    expect([merged.code, merged.err]).toEqual([0, '']);
    expect(merged.out).toMatch(/^success, merged, after \S+$/m);
    expect(rig.git('log', '-1', '--format=%s').trim()).toBe('Add up');
    expect([rig.git('show', 'HEAD:sum.mjs').trim(), leftovers(rig)]).toEqual([
      'export const sum = (a, b) => a + b;',
      [],
    ]);
    expect((await rig.reef('run', 'show', '@last', '--wait')).code).toBe(0);

    // A change of the person's own is in the way: it is not in, and it is said what it waits for.
    const rewrites = [
      { edit: { path: 'sum.mjs', content: 'export const sum = (x, y) => x + y;\n' } },
      { say: 'Written.\nSIGNAL:SUCCESS' },
    ];
    const rewriting = rig.world.script('rewrites', byBlock({ Quick__Write: rewrites }));
    rig.write({ 'sum.mjs': 'export const sum = (a, b) => b + a; // mine\n' });
    const waiting = await follow('Rename', rewriting);
    expect(waiting.code).toBe(3);
    expect(waiting.out).toMatch(/^success, not merged yet, after \S+: it is merged when .* has no changes .*sum\.mjs/m);
    expect(rig.git('log', '-1', '--format=%s').trim()).toBe('Add up');
    rig.git('checkout', '--', 'sum.mjs');
    await expect.poll(() => rig.git('log', '-1', '--format=%s').trim()).toBe('Rename');
    expect((await rig.reef('run', 'show', '@last', '--wait')).code).toBe(0);

    // It edits what judges: only a person may agree to that, so it is refused, and it says why.
    const edits = [{ edit: { path: '.github/workflows/ci.yml', content: 'on: push\n' } }, { say: 'SIGNAL:SUCCESS' }];
    const refused = await follow('Judge', rig.world.script('edits', byBlock({ Quick__Write: edits })));
    expect([refused.code, /^success, not merged, after \S+: .+ci\.yml/m.test(refused.out)]).toEqual([1, true]);
    expect(rig.git('log', '-1', '--format=%s').trim()).toBe('Rename');
  },
  120_000,
);

/** As `QUICK`, and after the gate somebody looks at it, who finds fault and asks. */
const REVIEWED = QUICK.replace(
  '{ on_signal: SIGNAL:SUCCESS, action: RETURN }',
  '{ on_signal: SIGNAL:SUCCESS, action: JUMP:Quick__Review }',
)
  .replaceAll('Quick', 'Reviewed')
  .concat(`      Review:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
`);

verifies('J-34').test(
  'accepting a halted run closes its question and ends the run as merged',
  async () => {
    rig.commit({ '.reef/workflows.yaml': REVIEWED, 'sum.mjs': 'export const sum = () => 0;\n' }, 'reviews');
    await rig.trust();
    const agent = rig.world.script(
      'reviewed',
      byBlock({ Reviewed__Write: WRITES_IT_RIGHT, Reviewed__Review: [done('I would name it otherwise.', 'FAILURE')] }),
    );
    const halted = await rig.reef('run', 'Reviewed', 'Mend it', '--agent', agent, '--follow');
    expect(halted.code).toBe(3);
    expect((await rig.json('inbox')).questions).toHaveLength(1);

    const accepted = await rig.reef('worktree', 'accept', '@last');
    expect([accepted.code, accepted.err]).toEqual([0, expect.any(String)]);
    expect(rig.git('log', '-1', '--format=%s').trim()).toBe('Mend it');
    expect((await rig.json('inbox')).questions).toEqual([]);
    const shown = await rig.reef('run', 'show', '@last', '--wait');
    expect([shown.code, /^success, merged, after/m.test(shown.out)]).toEqual([0, true]);
  },
  90_000,
);
