import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, PROJECT, QUICK, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** What has stopped says so, and when it goes on; a limit that resets needs nobody. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ ...PROJECT, '.reef/workflows.yaml': QUICK });
  rig.world.configure({ reef: { timings: { linger: 0, daemon_idle: 5_000 }, sandbox: 'off' } });
  await rig.trust();
});
afterAll(() => rig.close());

const limit = (ms?: number) => ({
  emit: {
    do: 'limit',
    message: 'enough for now',
    ...(ms !== undefined && { resumeAt: new Date(Date.now() + ms).toISOString() }),
  },
});
const limited = (name: string, ms?: number) =>
  rig.world.script(name, { steps: [limit(ms)], onResume: [{ say: 'Here I am again.' }] });
const HOUR = 3_600_000;

verifies('J-21', 'A-176').test(
  'a job at the limit of its provider is in the inbox with when it goes on, and a person need not wait for that',
  async () => {
    const started = await rig.reef('spawn', limited('hour', HOUR), 'Wait for an hour');
    expect(started.code).toBe(0);
    const { id } = (await rig.json('status', 'wait for')).jobs[0];
    await rig.world.until(id, ({ status }) => status === 'paused');
    const ps = await rig.reef('ps');
    expect(ps.out).toMatch(/paused \(rate_limit, goes on at (\w+ \d+, )?\d\d:\d\d\)/);
    const inbox = await rig.reef('inbox');
    const [, command = ''] =
      /paused by a limit of its provider; it goes on by itself at [^.]+\. Now: reef (.+)/.exec(inbox.out) ?? [];
    expect(command).toBe(`resume ${id}`);
    expect((await rig.reef(...command.split(' '))).code).toBe(0);
    await rig.world.until(id, ({ status }) => status === 'completed');
    expect((await rig.reef('inbox')).out).not.toContain('goes on by itself');

    const unknown = await rig.reef('spawn', limited('unknown'), 'Nobody knows', '--wait');
    expect(unknown.out).toContain('reef resume');
    const other = (await rig.json('status', 'nobody knows')).jobs[0];
    expect((await rig.reef('inbox')).out).toContain(`nobody knows for how long. Go on: reef resume ${other.id}`);
    expect((await rig.reef('kill', other.id)).code).toBe(0);
    expect((await rig.reef('inbox')).out).not.toContain('nobody knows');
  },
  90_000,
);

verifies('J-21').test(
  'it goes on by itself when the limit resets: the daemon stays for it, and a wait goes on with it',
  async () => {
    const agent = limited('soon', 3_000);
    expect((await rig.reef('spawn', agent, 'Wait for seconds')).code).toBe(0);
    const waited = await rig.reef('wait', 'wait for seconds', '--until', 'done');
    expect([waited.code, waited.err]).toEqual([0, '']);
    expect((await rig.reef('output', 'wait for seconds')).out).toContain('Here I am again.');
    const job = (await rig.json('status', 'wait for seconds')).jobs[0];
    expect([job.status, job.launch]).toEqual(['completed', 2]);
  },
  90_000,
);

verifies('J-21').test(
  'a run at a limit says when it goes on, and does',
  async () => {
    const [write = {}] = WRITES_IT_RIGHT;
    const agent = rig.world.script('limited-run', {
      ...{ steps: byBlock({ Quick__Write: [limit(8_000)] }), onResume: [write, done('Written.')] },
    });
    const followed = await rig.reef('run', 'Quick', 'Write sum', '--agent', agent, '--follow');
    expect([followed.code, followed.out]).toEqual([3, expect.stringMatching(/It goes on by itself at \d\d:\d\d/)]);
    expect((await rig.reef('inbox')).out).toMatch(/enough for now[\s\S]*It goes on by itself at \d\d:\d\d/);
    const ended = await rig.summaryWhen('@last', ({ status }) => status === 'success');
    expect(ended.status).toBe('success');
  },
  90_000,
);
