import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, QUICK, RunsRig, WRITES_IT_RIGHT, WRITES_IT_WRONG } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
beforeAll(async () => {
  rig.world.configure({ reef: { worktrees: { max_active: 2 }, timings: { linger: 0 } } });
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
});
afterAll(() => rig.close());

verifies('J-22').test(
  'a task that ended gives its place back although nobody merged it, and one at work keeps its own',
  async () => {
    const run = (task: string, steps: Record<string, unknown>[], ...flags: string[]) =>
      rig.reef('run', 'Quick', task, '--agent', rig.world.script(task, byBlock({ Quick__Write: steps })), ...flags);
    // Neither a run that ended well, nor one that halts, nor a job that ended holds a place.
    expect((await run('right', WRITES_IT_RIGHT, '--wait')).code).toBe(0);
    expect((await run('wrong', WRITES_IT_WRONG, '--wait')).code).toBe(3);
    const job = await rig.reef('spawn', rig.world.script('job', [{ say: 'Done.' }]), 'a job', '--worktree', '--wait');
    expect(job.code).toBe(0);
    expect((await run('fourth', WRITES_IT_RIGHT, '--wait')).code).toBe(0);

    // Two that are at work fill both places; the next one starts by itself when one of them ends.
    const asks = [{ ask: { question: 'Go on?', options: ['yes'] } }, done('Nothing to do.')];
    const busy = await Promise.all(
      ['one', 'two'].map((name) => rig.json('spawn', rig.world.script(name, asks), name, '--worktree')),
    );
    for (const { agentId } of busy) expect((await rig.reef('wait', agentId, '--until', 'needs_input')).code).toBe(0);
    await run('third', WRITES_IT_RIGHT);
    const queued = await rig.reef('run', 'show', '@last');
    expect(queued.out).toContain('waits for room: as many tasks as may run at once are at work');
    expect((await rig.reef('send', busy[0].agentId, '--option', '1')).code).toBe(0);
    expect((await rig.reef('run', 'show', '@last', '--wait')).code).toBe(0);
    const { worktrees } = await rig.json('worktree', 'list');
    expect(worktrees.map(({ status }: { status: string }) => status)).toEqual(Array(7).fill('running'));
  },
  120_000,
);
