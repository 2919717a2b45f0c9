import { afterAll, beforeAll, expect } from 'vitest';
import { ADDS, byBlock, done, leftovers, PROJECT, QUICK, RunsRig, WRITES_IT_WRONG, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Several agents try one task, each in a worktree of its own; a person sees what they made of it and takes one. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ ...PROJECT, '.reef/workflows.yaml': QUICK });
  rig.world.configure({ reef: { timings: { linger: 0 }, sandbox: 'off' } });
  await rig.trust();
});
afterAll(() => rig.close());

const agent = (name: string, steps: unknown[]) => rig.world.script(name, byBlock({ Quick__Write: steps as never }));
const LONG = `// It adds.\n// Really.\n${ADDS}`;

verifies('J-35').test(
  'three agents try one task side by side, the best is shown first, and taking one drops the others',
  async () => {
    const long = agent('long', [writes('sum.mjs', LONG), done('Written.')]);
    const short = agent('short', [writes('sum.mjs', ADDS), done('Written.')]);
    const wrong = agent('wrong', WRITES_IT_WRONG);
    const named = [wrong, long, short].join(',');
    const tried = await rig.reef('run', 'Quick', 'Write sum', '--agents', named, '--plan', 'sum.mjs', '--follow');
    expect([tried.code, tried.err]).toEqual([0, expect.stringContaining(`${wrong}: halted: Test failed.`)]);
    const rows = tried.out.split('\n').filter((line) => line.includes('scripted:'));
    expect(rows).toEqual([
      expect.stringMatching(/short\S* +success +test passed +1 file \+1 -0/),
      expect.stringMatching(/long\S* +success +test passed +1 file \+3 -0/),
      expect.stringMatching(/wrong\S* +halted +test failed +1 file \+1 -0/),
    ]);
    const { attempts } = await rig.json('compare', '@last');
    const [first, second, third] = attempts;
    expect(new Set(attempts.map(({ worktree }: { worktree: string }) => worktree)).size).toBe(3);
    expect(tried.out).toMatch(/reef accept \w+ +merge it; the others are dropped/);

    // A reviewer that may change nothing puts the longer one first.
    const lines = [second, first, third].map(({ runId }, index) => `RANK ${index + 1} ${runId} Remark ${index + 1}.`);
    const reviewer = rig.world.script('reviewer', [
      { permit: { tool: 'Write', steps: [writes('sum.mjs', 'broken')] } },
      { say: `I have read them.\n${lines.join('\n')}` },
    ]);
    const reviewed = await rig.reef('compare', '@last', '--review', reviewer);
    expect([reviewed.code, reviewed.err]).toEqual([0, '']);
    expect(reviewed.out).toMatch(/long[\s\S]*short[\s\S]*wrong[\s\S]*A reviewer says:\n1\. \w+ {2}Remark 1\./);
    const { task } = (await rig.world.client.call('status', {})).jobs.find(({ agent: by }) => by === reviewer) ?? {};
    expect(task).toContain('+// Really.');
    expect(rig.git('status', '--porcelain')).toBe('');

    // A person takes the second one, by what is typed for any task.
    expect((await rig.reef('diff', second.runId)).out).toContain('// Really.');
    const accepted = await rig.reef('accept', second.runId);
    expect([accepted.code, accepted.out]).toEqual([0, expect.stringMatching(/^merged as/m)]);
    expect(rig.git('show', 'HEAD:sum.mjs')).toBe(LONG.trimEnd());
    expect(leftovers(rig)).toEqual([]);
    expect((await rig.reef('inbox')).out).not.toContain(third.runId);
    const [restore = ''] = new RegExp(`reef worktree restore ${first.worktree}`).exec(accepted.out) ?? [];
    expect((await rig.reef(...restore.split(' ').slice(1))).code).toBe(0);
    expect((await rig.reef('diff', first.runId)).code).toBe(0);
    expect((await rig.reef('discard', first.runId)).code).toBe(0);
    expect((await rig.reef('compare', second.runId)).out).toMatch(/merged/);
  },
  120_000,
);

verifies('J-35').test(
  'what one of them could not begin with refuses all, and nothing has begun',
  async () => {
    const good = agent('good', [done('Nothing.')]);
    const before = (await rig.json('runs')).runs.length;
    const unknown = await rig.reef('run', 'Quick', 'Write', '--agents', `${good},nobody`);
    expect([unknown.code === 0, unknown.err]).toEqual([false, expect.stringContaining('nobody')]);
    const merged = await rig.reef('run', 'Quick', 'Write', '--agents', `${good},${good}`, '--accept');
    expect([merged.code, merged.err]).toEqual([2, expect.stringContaining('You choose which of them is merged')]);
    expect((await rig.json('runs')).runs.length).toBe(before);
    const alone = await rig.reef('run', 'Quick', 'Alone', '--agent', good, '--wait');
    expect(alone.code).not.toBe(2);
    const compared = await rig.reef('compare', '@last');
    expect([compared.code, compared.err]).toEqual([2, expect.stringContaining('Only one agent works')]);
  },
  90_000,
);
