import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

const rig = new RunsRig();
const root = realpathSync(rig.world.root);
const configure = (reef: object) => rig.world.configure({ reef: { timings: { linger: 0 }, ...reef } });
beforeAll(async () => {
  configure({ max_jobs: 1, worktrees: { max_active: 1 } });
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
});
afterAll(() => rig.close());

const ASKS = [{ ask: { question: 'Go on?', options: ['yes'] } }, done('Nothing to do.')];
const spawn = async (name: string, steps: unknown, ...flags: string[]): Promise<string> =>
  (await rig.json('spawn', rig.world.script(name, steps), name, ...flags)).agentId;
const asks = async (id: string) => expect((await rig.reef('wait', id, '--until', 'needs_input')).code).toBe(0);
const statusOf = async (id: string): Promise<string> => (await rig.json('status', id)).jobs[0].status;
const becomes = (id: string, status: string) =>
  eventually(
    () => statusOf(id),
    (now) => now === status,
    { what: `${id} is ${status}`, everyMs: 200 },
  );

verifies('J-22').test(
  'what a person writes into their configuration is in effect without a restart, and a mistake in it stops nothing',
  async () => {
    const { pid } = (await rig.json('daemon', 'status')) as { pid: number };
    const first = await spawn('first', ASKS);
    await asks(first);
    const second = await spawn('second', [done('Done.')]);
    expect(await statusOf(second)).toBe('queued');
    configure({ max_jobs: 8, worktrees: { max_active: 1 } });
    await becomes(second, 'completed');

    const third = await spawn('third', ASKS, '--worktree');
    await asks(third);
    const fourth = await spawn('fourth', [done('Done.')], '--worktree');
    expect(await statusOf(fourth)).toBe('queued');
    configure({ worktrees: { max_active: 2 } });
    await becomes(fourth, 'completed');

    const agent = rig.world.script('right', byBlock({ Quick__Write: WRITES_IT_RIGHT }));
    configure({ default_agent: agent, worktrees: { root: join(root, 'elsewhere') } });
    expect((await rig.reef('run', 'Quick', 'Make it right', '--wait')).code).toBe(0);
    const made = async (): Promise<string> => (await rig.json('worktree', 'create', 'a place')).path;
    const isElsewhere = (path: string) => realpathSync(path).startsWith(join(root, 'elsewhere'));
    await eventually(made, isElsewhere, { what: 'a worktree is made elsewhere', everyMs: 500 });

    configure({ max_jobs: 'many' });
    const refused = await rig.reef('spawn', agent, 'Say something');
    expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/config\.yaml:\d+: .*max_jobs/)]);
    for (const id of [first, third]) expect((await rig.reef('send', id, '--option', '1')).code).toBe(0);
    for (const id of [first, third]) await becomes(id, 'completed');
    expect(await rig.json('daemon', 'status')).toMatchObject({ pid });
  },
  150_000,
);
