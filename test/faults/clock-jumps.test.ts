import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { AgentEvent } from '../../src/protocol/events.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { startDaemon } from '../support/started-daemon.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** A real daemon whose wall clock jumps, and one that is stopped as by a laptop that sleeps. */

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world.close());

const LIBRARIES = '/usr/lib';
const faketime = readdirSync(LIBRARIES)
  .map((name) => join(LIBRARIES, name, 'faketime', 'libfaketimeMT.so.1'))
  .find((path) => existsSync(path));

const DAY_S = 86_400;
const MUTE = { 'acp:mute': { command: ['/bin/sh', '-c', 'exec sleep 600'] } };
const LINES = Array.from({ length: 90 }, (_, n) => `line ${n}`);

const codes = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'error' ? [event.payload.code] : []));
const texts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'progress' && event.payload.kind === 'text' ? [event.payload.text] : []));
const spawn = async (agent: string) => (await world.client.call('spawn', { agent, task: 'x' })).agentId;

/** Every event of the home, by cursor in pages. */
async function wholeLog(): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for (let since = '0', isMore = true; isMore; ) {
    const page = await world.client.call('events', { since, limit: 37 });
    all.push(...(page.events as AgentEvent[]));
    [since, isMore] = [page.nextCursor, page.truncated];
  }
  return all;
}

verifies('Q-70', 'Q-04')
  .needs(faketime !== undefined, 'libfaketime is not installed')
  .test(
    'the wall clock jumps a day forward and two back: order, cursors and deadlines hold, and nobody is taken for stalled',
    async () => {
      const offset = join(world.root, 'offset');
      const jump = (seconds: number) => writeFileSync(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`);
      jump(0);
      world.configure({ timings: { start: 4_000, stalled: 60_000, linger: 50 }, agents: MUTE });
      const settings = { FAKETIME_TIMESTAMP_FILE: offset, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
      await startDaemon(world, { more: { LD_PRELOAD: faketime, ...settings } });
      const writer = await spawn(
        world.script(
          'writer',
          LINES.flatMap((say) => [{ say }, { sleep: 100 }]),
        ),
      );
      const asks = await spawn(world.script('asks', [{ ask: { question: 'Go on?' } }, { say: 'Done.' }]));
      const quiet = await spawn(world.script('quiet', [{ say: 'here' }, { sleep: 600_000 }]));
      await world.until(asks, (job) => job.awaiting_input);
      await world.until(quiet, ({ lastOutput }) => lastOutput.includes('here'));
      const before = (await world.events(asks))[0]?.timestamp ?? '';
      const goesOn = async () => {
        const has = (await world.events(writer)).length;
        await eventually(
          () => world.events(writer),
          (events) => events.length >= Math.min(has + 5, LINES.length),
        );
      };
      for (const seconds of [DAY_S, -DAY_S]) {
        jump(seconds);
        await goesOn();
        expect((await world.job(quiet)).activity).toBe('working');
      }
      // In yesterday: a deadline by the wall clock would come in a day.
      const mute = await spawn('acp:mute');
      await world.until(mute, ({ activity }) => activity === 'ended');
      await world.client.call('send', { id: asks, text: 'yes' });
      for (const id of [asks, writer]) await world.until(id, ({ status }) => status === 'completed');
      const log = await wholeLog();
      const times = log.map(({ timestamp }) => Date.parse(timestamp));
      const jumps = times.slice(1).map((at, n) => Math.round((at - (times[n] ?? 0)) / 1_000 / DAY_S));
      const bySince = (await world.client.call('output', { id: asks, since: before, limit: 1_000 })).events;
      expect({
        jumps: jumps.filter((days) => days !== 0),
        said: texts(await world.events(writer)),
        seqs: log.map(({ seq }) => seq),
        mute: codes(await world.events(mute)),
        quiet: (await world.job(quiet)).status,
        bySince: bySince.length,
      }).toEqual({
        jumps: [1, -2],
        said: LINES,
        seqs: log.map((_, n) => n + 1),
        mute: ['agent_start_timeout'],
        quiet: 'running',
        bySince: (await world.events(asks)).length,
      });
    },
    180_000,
  );

const LIMIT_MS = 8_000;
/** The gap that counts as one tick of a second, and the ticks on both sides of it. */
const SLACK_MS = 2_500;

verifies('Q-71').test(
  'a daemon that was stopped for longer than any deadline ends nobody for it, and takes nobody for stalled',
  async () => {
    world.configure({ timings: { start: LIMIT_MS, stalled: LIMIT_MS, linger: 50 }, agents: MUTE });
    const writer = await spawn(
      world.script(
        'writer',
        LINES.flatMap((say) => [{ say }, { sleep: 100 }]),
      ),
    );
    const quiet = await spawn(world.script('quiet', [{ say: 'here' }, { sleep: 600_000 }]));
    await world.until(quiet, ({ lastOutput }) => lastOutput.includes('here'));
    const mute = await spawn('acp:mute');
    const { startedAt = '' } = await world.until(mute, ({ status }) => status === 'running');
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    const stoppedAt = Date.now();
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually(
        () => Date.now() - stoppedAt,
        (ms) => ms > LIMIT_MS + 500,
        { everyMs: 100 },
      );
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const wentOnAt = Date.now();
    expect((await world.job(quiet)).activity).toBe('working');
    await world.until(mute, ({ activity }) => activity === 'ended');
    const end = (await world.events(mute)).at(-1);
    const awakeMs = stoppedAt - Date.parse(startedAt) + Date.parse(end?.timestamp ?? '') - wentOnAt;
    await world.until(writer, ({ status }) => status === 'completed');
    const log = await wholeLog();
    expect({
      pid: (await world.client.daemon())?.pid,
      code: codes(await world.events(mute)),
      said: texts(await world.events(writer)),
      seqs: log.map(({ seq }) => seq),
      quiet: (await world.job(quiet)).status,
    }).toEqual({
      pid,
      code: ['agent_start_timeout'],
      said: LINES,
      seqs: log.map((_, n) => n + 1),
      quiet: 'running',
    });
    expect(awakeMs).toBeGreaterThan(LIMIT_MS - SLACK_MS);
  },
  120_000,
);
