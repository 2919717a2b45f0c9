import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, PROJECT, QUICK, RunsRig, type Steps, WRITES_IT_RIGHT, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** An agent that cannot go on for a reason of its own is followed by the next one, which finds what it left. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ ...PROJECT, '.reef/workflows.yaml': QUICK });
  rig.world.configure({ reef: { timings: { linger: 0, daemon_idle: 5_000 }, sandbox: 'off' } });
  await rig.trust();
});
afterAll(() => rig.close());

const HOUR = 3_600_000;
const limit = (ms: number) => ({
  emit: { do: 'limit', message: 'enough for now', resumeAt: new Date(Date.now() + ms).toISOString() },
});
const agent = (name: string, steps: Steps, onResume: Steps = []) =>
  rig.world.script(name, { steps: byBlock({ Quick__Write: steps }), onResume } as never);
const limited = (name = 'limited') => agent(name, [writes('half.txt', 'half\n'), limit(HOUR)]);
const loggedOut = (name = 'logged-out') =>
  agent(name, [{ fail: { code: 'agent_not_logged_in', message: 'log in first' } }]);
const down = () => agent('down', [{ fail: { message: 'overloaded', retryable: true } }]);
const works = (name = 'works') => agent(name, WRITES_IT_RIGHT);

verifies('J-37').test(
  'a limit, a missing log-in and an outage each hand the block to the next agent, which is told what happened',
  async () => {
    const [first, second, third, last] = [limited(), loggedOut(), down(), works()];
    const flags = ['--agent', first, '--fallback', `${second},${third},${last}`];
    const ran = await rig.reef('run', 'Quick', 'Write sum', ...flags, '--follow');
    expect([ran.code, ran.out]).toEqual([0, expect.stringMatching(/^success, after/m)]);
    expect(ran.out).toContain(`! ${first} stopped (enough for now); ${second} goes on`);
    expect(ran.out).toContain(`! ${second} stopped (log in first); ${third} goes on`);
    expect(ran.out).toContain(`! ${third} stopped (overloaded); ${last} goes on`);
    const id = (await rig.json('runs')).runs[0].runId;
    expect((await rig.reef('run', 'show', id)).out).toContain('agent_changed');
    const { calls } = await rig.world.client.call('calls', { run: id });
    const told = calls.find(({ request }) => request.prompt.startsWith(`Another agent (${third})`));
    expect(told?.request.prompt).toContain('half.txt');
    expect((await rig.reef('diff', id)).out).toContain('half.txt');
    // Nobody is left behind who would go on with it in an hour.
    const { jobs } = await rig.json('ps');
    expect(jobs.filter(({ status }: { status: string }) => status === 'paused')).toEqual([]);
    expect((await rig.reef('run', 'replay', id)).code).toBe(0);
  },
  120_000,
);

verifies('J-37').test(
  'when all have stopped, the one whose limit resets first goes on by itself',
  async () => {
    const [write = {}] = WRITES_IT_RIGHT;
    const soon = agent('soon', [limit(30_000)], [write, done('Written.')]);
    const flags = ['--agent', limited('late'), '--fallback', `${soon},${loggedOut('nobody')}`];
    const halted = await rig.reef('run', 'Quick', 'Write sum again', ...flags, '--follow');
    expect([halted.code, halted.out]).toEqual([3, expect.stringMatching(/It goes on by itself at \d\d:\d\d/)]);
    expect((await rig.summaryWhen('@last', ({ status }) => status === 'success')).status).toBe('success');
  },
  120_000,
);

verifies('J-37').test(
  'a roster in the workflow file and one in the configuration do the same',
  async () => {
    const roster = `workers:\n  Agent:coder:\n    agents:\n      - ${limited('first')}\n      - ${works('second')}\n`;
    rig.commit({ '.reef/workflows.yaml': `${roster}${QUICK}` }, 'roster');
    await rig.trust();
    const byFile = await rig.reef('run', 'Quick', 'By file', '--follow');
    expect([byFile.code, byFile.out]).toEqual([0, expect.stringContaining('second.yaml goes on')]);

    rig.commit({ '.reef/workflows.yaml': QUICK }, 'no roster');
    await rig.trust();
    const reef = { timings: { linger: 0, daemon_idle: 5_000 }, sandbox: 'off' };
    rig.world.configure({
      reef: { ...reef, default_agent: limited('default'), fallback_agents: [works('configured')] },
    });
    const byUser = await rig.reef('run', 'Quick', 'By configuration', '--follow');
    expect([byUser.code, byUser.out]).toEqual([0, expect.stringContaining('configured.yaml goes on')]);
  },
  120_000,
);
