import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, QUICK, RunsRig, WRITES_IT_RIGHT, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
beforeAll(async () => {
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
});
afterAll(() => rig.close());

const ok = async (...args: string[]) => {
  const spoken = await rig.reef(...args);
  expect([args.join(' '), spoken.code, spoken.err]).toEqual([args.join(' '), 0, expect.any(String)]);
  return spoken.out;
};

const ASKS = [{ ask: { question: 'Which way?', options: ['up', 'down'], as: 'way' } }, ...WRITES_IT_RIGHT];

verifies('J-03').test(
  'every command finds run, worktree and job from one id, its beginning, the title of the task, or @last',
  async () => {
    const agent = rig.world.script('asks', byBlock({ Quick__Write: ASKS }));
    const started = await rig.reef('run', 'Quick', 'Add the numbers up', '--agent', agent);
    const run = started.out.split(' ')[0] ?? '';
    const waited = await rig.reef('wait', run);
    expect([waited.code, waited.out]).toEqual([3, expect.stringContaining('an agent asks')]);

    // The question of its agent is answered by the id of the run.
    const [asked] = (await rig.json('inbox')).questions;
    expect(asked.runId).toBe(run);
    expect(await ok('send', run, '--question', asked.fingerprint.slice(0, 10), '--option', 'up')).toContain(
      asked.jobId,
    );
    expect(await ok('wait', run, '--until', 'done')).toMatch(/^success, after/m);

    const worktree = (await rig.json('run', 'show', run)).runs[0].worktree;
    // Each kind of name, and each kind of part that is found from it.
    for (const name of [run, worktree, run.slice(0, 24), 'add the numb', '@last'])
      expect(await ok('output', name)).toContain('Which way?');
    for (const name of [worktree, asked.jobId, 'Add']) expect(await ok('run', 'show', name)).toContain(run);
    for (const name of [run, asked.jobId, 'Add']) expect(await ok('diff', name)).toContain('A sum.mjs');
    for (const name of [run, 'Add the']) expect(await ok('status', name)).toContain(run);
    expect(await ok('status', asked.jobId)).toMatch(new RegExp(`^job +${asked.jobId}`, 'm'));

    expect(await ok('worktree', 'hold', 'add the numbers')).toContain('kept on');
    expect(await ok('worktree', 'restore', worktree)).toContain(worktree);
    expect(await ok('accept', run)).toMatch(/^merged as/m);
    expect(rig.git('log', '-1', '--format=%s').trim()).toBe('Add the numbers up');
  },
  120_000,
);

verifies('J-03').test(
  'a name that fits several tasks is refused with the list, and a task without such a part says so',
  async () => {
    const agent = rig.world.script('says', [{ say: 'Done.' }]);
    const one =
      (await ok('spawn', agent, 'Tidy the kitchen', '--wait', '--json')) && (await rig.json('status', '@last'));
    await ok('spawn', agent, 'Tidy the cellar', '--wait');
    const both = await rig.reef('output', 'tidy the');
    expect(both.code).toBe(2);
    expect(both.err).toMatch(/^ambiguous_id: Several tasks begin with "tidy the"\.$/m);
    expect(both.err).toMatch(new RegExp(`^ +${one.jobs[0].id} {2}Tidy the kitchen$`, 'm'));
    expect(await ok('output', 'tidy the k')).toContain('Done.');

    const bare = await rig.reef('diff', 'tidy the k');
    expect([bare.code, bare.err]).toEqual([1, expect.stringContaining('has no worktree of its own')]);
    const alone = await rig.reef('run', 'show', '@last');
    expect([alone.code, alone.err]).toEqual([1, expect.stringContaining('belongs to no run')]);
    expect((await rig.reef('output', 'nothing like it')).code).toBe(4);
  },
  60_000,
);

verifies('J-03').test(
  'kill and resume take the id of the task as well',
  async () => {
    const halts = rig.world.script(
      'halts',
      byBlock({ Quick__Write: [writes('sum.mjs', 'export const sum = () => 1;\n'), done('Written.')] }),
    );
    const run = (await rig.json('run', 'Quick', 'Rewrite sum', '--agent', halts)).runId;
    expect((await rig.reef('wait', run)).code).toBe(3);
    expect(await ok('resume', run, 'Try once more')).toContain(run);
    expect((await rig.reef('wait', run)).code).toBe(3);
    expect(await ok('kill', 'rewrite sum')).toContain('killed');
    expect(await ok('discard', run)).toContain('kept on');
  },
  90_000,
);
