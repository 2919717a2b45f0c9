import { readFileSync } from 'node:fs';
import { afterEach, expect } from 'vitest';
import { makeWorld, type World } from '../e2e/harness.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

/** Real programs that write as fast as they can, all at once, into one daemon. `npm run bench load` has the times. */

const JOBS = scale('Q-80', { test: 8, faults: 32, soak: 64 });
const EVENTS = scale('Q-80', { test: 2_000, faults: 50_000, soak: 50_000 });
const MOST_MB = 300;

let world: World;
afterEach(() => world.close());

verifies('Q-80', 'Q-31').test(
  'many jobs that flood one daemon keep their order and lose nothing, in bounded memory, beside readers that leave',
  async () => {
    world = makeWorld();
    const agent = world.script('flood', [{ flood: { events: EVENTS } }]);
    world.configure({ reef: { timings: { linger: 0 }, maxJobs: JOBS } });
    const spawned = Array.from({ length: JOBS }, () => world.client.call('spawn', { agent, task: 'flood' }));
    const ids = (await Promise.all(spawned)).map(({ agentId }) => agentId);
    const leaving = new AbortController();
    const readers = ids.map((id) =>
      world.client
        .call('output', { id, since: String(10 ** 9), waitMs: 40_000 }, { signal: leaving.signal })
        .catch(() => 'left'),
    );
    for (const id of ids) await world.until(id, ({ endedAt }) => endedAt !== undefined, 600_000);
    leaving.abort();
    await Promise.all(readers);
    const expected = Array.from({ length: EVENTS }, (_, n) => `flood ${n + 1}`);
    for (const id of ids) {
      const events = await world.events(id);
      const said = events.flatMap(({ type, payload }) =>
        type === 'progress' && payload.kind === 'text' ? [payload.text] : [],
      );
      expect(said).toEqual(expected);
    }
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    const [, peakKb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    expect(Number(peakKb) / 1024).toBeLessThan(MOST_MB);
  },
  900_000,
);
