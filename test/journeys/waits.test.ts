import { afterAll, beforeAll, expect } from 'vitest';
import { RunsRig } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
beforeAll(async () => {
  rig.world.configure({ reef: { max_jobs: 1, timings: { linger: 0 } } });
  await rig.trust();
});
afterAll(() => rig.close());

const spawn = async (name: string, steps: unknown, ...flags: string[]) =>
  (await rig.reef('spawn', rig.world.script(name, steps), name, ...flags)).out.split(' ')[0] ?? '';

const ASKS = [
  { ask: { question: 'Which colour?', options: ['red', 'blue'], as: 'colour' } },
  { say: 'Took {colour}.' },
];

verifies('J-04').test(
  'a wait for what can no longer happen ends, says why and what to type, and its exit code tells',
  async () => {
    const ended = await spawn('ended', [{ say: 'Done.' }]);
    expect((await rig.reef('wait', ended)).code).toBe(0);
    const asks = await rig.reef('wait', ended, '--until', 'needs_input');
    expect([asks.code, asks.err]).toEqual([
      1,
      `Job ${ended} has ended (completed).\nWhat you wait for cannot happen unless somebody acts.\n`,
    ]);

    const kept = await spawn('kept', { steps: [{ say: 'Ready.' }], onMessage: [{ say: 'Again.' }] }, '--keep');
    const idle = await rig.reef('wait', kept);
    expect(idle.code).toBe(0);
    expect(idle.err).toMatch(`Job ${kept} is idle: its turn is over, and it is kept for another message.`);
    expect(idle.err).toMatch(`reef resume ${kept} "<text>"`);
    const done = await rig.reef('wait', kept, '--until', 'done', '--json');
    expect([done.code, JSON.parse(done.out)]).toMatchObject([
      1,
      { met: false, because: expect.stringContaining('idle') },
    ]);
    expect((await rig.reef('wait', kept, '--until', 'idle')).code).toBe(0);

    const asking = await spawn('asking', ASKS);
    expect((await rig.reef('wait', asking, '--until', 'needs_input')).code).toBe(0);
    const queued = await spawn('queued', [{ say: 'My turn.' }]);
    const noPlace = await rig.reef('wait', queued);
    expect([noPlace.code, noPlace.err]).toEqual([
      3,
      `Job ${queued} waits for a place, and every place is held by a job that waits for an answer: ${asking}.\n` +
        'What you wait for cannot happen unless somebody acts. See what the others ask: reef inbox\n',
    ]);

    // What it says to type works, and then the wait ends as it should.
    const [, typed = ''] = /reef (send \S+ --question \S+ --option 1)/.exec((await rig.reef('inbox')).out) ?? [];
    expect((await rig.reef(...typed.split(' '))).code).toBe(0);
    expect((await rig.reef('wait', queued)).code).toBe(0);
    expect((await rig.reef('resume', kept, 'go on')).code).toBe(0);
    expect((await rig.reef('kill', kept)).code).toBe(0);
    expect((await rig.reef('wait', kept, '--until', 'done')).code).toBe(0);
  },
  90_000,
);

verifies('J-04').test(
  'a job or a run whose worktree waits behind work that ended is not waited for, and what is named lets it begin',
  async () => {
    const first = await spawn('left', [{ say: 'Done.' }], '--worktree', 'left', '--plan', 'left.txt');
    expect((await rig.reef('wait', first)).code).toBe(0);
    const { worktree } = (await rig.json('status', first)).jobs[0];
    const behind = await spawn('right', [{ say: 'Done.' }], '--worktree', 'right', '--plan', 'left.txt');
    const waited = await rig.reef('wait', behind);
    expect([waited.code, waited.err]).toEqual([
      3,
      expect.stringContaining(`Job ${behind} waits behind ${worktree}, where nothing goes on.`),
    ]);
    expect(waited.err).toContain(`reef accept ${worktree}`);

    const agent = rig.world.script('third', [{ say: 'Done.' }]);
    const run = await rig.reef('run', 'test-fix', 'Third', '--agent', agent, '--plan', 'left.txt', '--follow');
    expect([run.code, run.out]).toEqual([3, expect.stringMatching(/^queued, after .*: waits for /m)]);
    const id = (await rig.json('runs')).runs[0].runId;
    const forRun = await rig.reef('wait', id, '--until', 'done', '--json');
    expect([forRun.code, JSON.parse(forRun.out)]).toMatchObject([
      1,
      { met: false, because: expect.stringContaining(`Run ${id} waits for ${worktree}`) },
    ]);
    expect((await rig.reef('kill', id)).code).toBe(0);
    const [typed = ''] = /reef discard \S+/.exec(waited.err) ?? [];
    expect((await rig.reef(...typed.split(' ').slice(1))).code).toBe(0);
    expect((await rig.reef('wait', behind)).code).toBe(0);
  },
  90_000,
);
