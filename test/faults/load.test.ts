import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { makeWorld, type World } from '../e2e/harness.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

/** Real programs that write as fast as they can, all at once, into one daemon. `npm run bench load` has the times. */

const JOBS = scale('Q-80', { test: 8, faults: 32, soak: 64 });
const EVENTS = scale('Q-80', { test: 2_000, faults: 50_000, soak: 50_000 });
const MOST_MB = 300;
/** On a busy machine a commit holds fewer events, and the page at its end is written more often. */
const MOST_TIMES = scale('Q-84', { test: 5, faults: 3, soak: 3 });

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

verifies('Q-84').test(
  `storing what an agent says takes at most ${MOST_TIMES} times the bytes of its events`,
  async () => {
    world = makeWorld();
    const agent = world.script('flood', [{ flood: { events: 50_000 } }]);
    world.configure({ reef: { timings: { linger: 0 } } });
    await world.client.call('status', {});
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    const before = bytesWritten(pid);
    const { agentId: id } = await world.client.call('spawn', { agent, task: 'flood' });
    await world.until(id, ({ endedAt }) => endedAt !== undefined, 600_000);
    // The kernel counts those of a child that has ended too, and the raw output is written by the agent.
    const raw = statSync(join(world.home.dir, 'jobs', id, '1', 'out')).size;
    const written = bytesWritten(pid) - before - raw;
    const bytes = (await world.events(id)).reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0);
    process.stdout.write(`${written} bytes written for ${bytes} of events: ${(written / bytes).toFixed(2)}\n`);
    expect(bytes).toBeGreaterThan(5_000_000);
    expect(written).toBeGreaterThan(bytes);
    expect(written / bytes).toBeLessThanOrEqual(MOST_TIMES);
  },
  900_000,
);

/** By its calls, answers over the socket included: what reaches a disk is less where a page is written twice before. */
function bytesWritten(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}
