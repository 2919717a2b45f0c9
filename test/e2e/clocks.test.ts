import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { jobDir } from '../../src/agents/sandbox.ts';
import { readLaunch } from '../../src/process/launch-folder.ts';
import { sweep } from '../../src/process/sweep.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

/** The clocks of a job, shortened; and what is left of a job when its daemon, its process, or both are gone. */

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world.close());

const errors = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'error' ? [event.payload.code] : []));
const warnings = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'progress' && event.payload.kind === 'warning' ? [event.payload.message] : [],
  );
const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
const startedAs = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'started' ? [event.payload.pid] : []));
const launchOf = (id: string) => readLaunch(join(jobDir(world.home.dir, id), '1'));
const daemonPid = async () => (await world.client.daemon())?.pid;
/** A step that lasts until the test lets it end. */
const gate = () => join(world.home.dir, 'may-go-on');
const waitAtGate = () => ({ shell: ['sh', '-c', `until [ -e ${gate()} ]; do sleep 0.05; done`] });

verifies('A-70', 'A-67', 'Q-64').test(
  'an agent that says nothing is ended, with what it wrote elsewhere; the daemon and the other jobs go on',
  async () => {
    const mute = ['/bin/sh', '-c', 'echo waiting for a licence >&2; exec sleep 600'] as const;
    const other = await world.client.call('spawn', {
      agent: world.script('asks', [{ ask: { question: 'Go on?' } }, { say: 'Done.' }]),
      task: 'ask',
    });
    await world.until(other.agentId, ({ status }) => status === 'awaiting_input');
    // Too short for an agent that has to start a program of its own first.
    await world.stopDaemon();
    world.configure({ timings: { start: 3_000, linger: 50 }, agents: { 'acp:mute': { command: mute } } });
    await world.client.call('status', {});
    const daemon = await daemonPid();
    const { agentId } = await world.client.call('spawn', { agent: 'acp:mute', task: 'speak' });
    const { status } = await world.until(agentId, ({ activity }) => activity === 'ended');
    const events = await world.events(agentId);
    expect([status, errors(events), warnings(events)]).toEqual([
      'error',
      ['agent_start_timeout'],
      ['waiting for a licence'],
    ]);
    expect(startedAs(events).filter(isAlive)).toEqual([]);
    await world.client.call('send', { id: other.agentId, text: 'yes' });
    await world.until(other.agentId, (job) => job.status === 'completed');
    expect(await daemonPid()).toBe(daemon);
  },
);

test('a daemon with nothing to do ends after the time that the configuration gives it', async () => {
  world.configure({ reef: { timings: { daemon_idle: 300 } } });
  await world.client.call('status', {});
  const pid = (await daemonPid()) ?? 0;
  expect(isAlive(pid)).toBe(true);
  await eventually(
    () => isAlive(pid),
    (lives) => !lives,
  );
});

verifies('A-71').test(
  'an unused process is ended, after a turn that is over or kept, and its job can be resumed',
  async () => {
    world.configure({ timings: { linger: 50, idle: 300 } });
    const agent = world.script('says', [{ say: 'Done.' }]);
    const spawned = await Promise.all(
      [false, true].map((keep) => world.client.call('spawn', { agent, task: 'say', keep })),
    );
    const ends = await Promise.all(
      spawned.map(({ agentId }) => world.until(agentId, ({ activity }) => activity === 'ended')),
    );
    expect(ends.map(({ status, launch }) => [status, launch])).toEqual([
      ['completed', 1],
      ['completed', 1],
    ]);
    for (const { agentId } of spawned) {
      expect(startedAs(await world.events(agentId)).filter(isAlive)).toEqual([]);
      await world.client.call('resume', { id: agentId, text: 'again' });
      const again = await world.until(agentId, ({ activity, launch }) => activity === 'ended' && launch === 2);
      expect(again.status).toBe('completed');
    }
  },
);

verifies('A-72', 'Q-27').test(
  'silence is shown, as silence: nothing is killed, and it counts neither as a wait nor as an end',
  async () => {
    world.configure({ timings: { stalled: 300, linger: 50 } });
    const agent = world.script('broods', [{ say: 'Hm.' }, waitAtGate(), { say: 'Done.' }]);
    const { agentId } = await world.client.call('spawn', { agent, task: 'think' });
    const silent = await world.until(agentId, ({ activity }) => activity === 'stalled');
    expect([silent.status, silent.awaiting_input, silent.questions]).toEqual(['running', false, []]);
    expect((await world.client.call('inbox', {})).questions).toEqual([]);
    writeFileSync(gate(), '');
    const { status } = await world.until(agentId, ({ activity }) => activity === 'ended');
    const events = await world.events(agentId);
    expect([status, startedAs(events).length, errors(events)]).toEqual(['completed', 1, []]);
  },
);

verifies('A-73').test('time in which a job waits for a person, or rests, is no working time', async () => {
  world.configure({ timings: { linger: 50 } });
  const agent = world.script('asks', [{ sleep: 1_500 }, { ask: { question: 'Go on?' } }, { say: 'Done.' }]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'ask', keep: true, budget: { seconds: 600 } });
  const workedIn = async (ms: number) => {
    const before = await world.job(agentId);
    await sleep(ms);
    return (await world.job(agentId)).workedMs - before.workedMs;
  };
  await world.until(agentId, ({ status }) => status === 'awaiting_input');
  const whileAsking = await workedIn(1_000);
  await world.client.call('send', { id: agentId, text: 'yes' });
  await world.until(agentId, ({ status }) => status === 'paused');
  const { questions, workedMs } = await world.job(agentId);
  expect([questions, workedMs > 0, whileAsking, await workedIn(500)]).toEqual([[], true, 0, 0]);
});

verifies('Q-13', 'A-22').test(
  'found again without its process a job is stale, or what its exit file says; none is started again by itself',
  async () => {
    world.configure({ timings: { linger: 50 } });
    const agent = world.script('works', [{ say: 'Working.' }, { sleep: 600_000 }]);
    const ends = world.script('ends', [{ say: 'Working.' }, waitAtGate(), { exit: 7 }]);
    const jobs = await Promise.all([agent, ends].map((each) => world.client.call('spawn', { agent: each, task: 'x' })));
    const [lost = '', over = ''] = jobs.map(({ agentId }) => agentId);
    for (const id of [lost, over]) await world.until(id, ({ lastOutput }) => lastOutput !== '');
    await world.killDaemon();
    writeFileSync(gate(), '');
    // Its wrapper first: it would write down how the agent ended.
    process.kill(launchOf(lost).identity?.pid ?? Number.NaN, 'SIGKILL');
    await sweep(lost);
    await eventually(
      async () => launchOf(over).exit,
      (exit) => exit !== undefined,
    );
    const [stale, ended] = await Promise.all(
      [lost, over].map((id) => world.until(id, ({ activity }) => activity === 'ended')),
    );
    expect([stale?.status, stale?.launch, ended?.status, ended?.launch]).toEqual(['stale', 1, 'error', 1]);
  },
);
