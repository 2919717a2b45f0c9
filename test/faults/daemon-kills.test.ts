import { afterAll, expect } from 'vitest';
import type { AgentEvent } from '../../src/protocol/events.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';

const KILLS = scale('Q-01', { test: 40, faults: 1_000, soak: 10_000 });
const AT_ONCE = 8;
const LINES = 400;

const world = makeWorld();
afterAll(() => world.close());

/** What each agent will say, numbered, so that one lost or repeated line shows. */
const said = Array.from({ length: LINES }, (_, n) => `line ${n + 1} of ${LINES}`);

async function keepBusy(agent: string, ids: string[]): Promise<void> {
  const { jobs } = await world.client.call('status', {});
  const busy = jobs.filter((job) => job.endedAt === undefined).length;
  for (let n = busy; n < AT_ONCE; n++) {
    const { agentId } = await world.client.call('spawn', { agent, task: 'count', key: `job-${ids.length}` });
    ids.push(agentId);
  }
}

function story(events: AgentEvent[]) {
  const texts = events.flatMap((event) =>
    event.type === 'progress' && event.payload.kind === 'text' ? [event.payload.text] : [],
  );
  const ends = events.filter(
    (event) => (event.type === 'completed' || event.type === 'error') && event.payload.scope === 'process',
  );
  return {
    texts,
    started: events.filter((event) => event.type === 'started').length,
    ends: ends.map((event) => [event.type, event.seq === events.at(-1)?.seq]),
  };
}

verifies('Q-01', 'Q-02', 'Q-21', 'Q-22', 'Q-25', 'A-03', 'A-174').test(
  `a daemon killed ${KILLS} times under ${AT_ONCE} writing agents loses nothing and repeats nothing`,
  async () => {
    const agent = world.script(
      'count',
      said.flatMap((text) => [{ say: text }, { sleep: 10 }]),
    );
    world.configure({ maxJobs: AT_ONCE, timings: { linger: 50 } });
    const ids: string[] = [];
    let kills = 0;
    for (; kills < KILLS; kills++) {
      await keepBusy(agent, ids);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
      await world.killDaemon();
    }
    const stories = new Map<string, AgentEvent[]>();
    for (const id of ids) stories.set(id, await ended(world, id));
    const seqs = [...stories.values()].flatMap((events) => events.map((event) => event.seq)).sort((a, b) => a - b);
    // Killed between the intent and the process, a job is launched again by itself: all ran to their end, once.
    const ran = [...stories.values()];
    expect(kills).toBe(KILLS);
    expect(ran.length).toBeGreaterThanOrEqual(AT_ONCE);
    expect(ran.map(story)).toEqual(ran.map(() => ({ texts: said, started: 1, ends: [['completed', true]] })));
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  },
  120_000 + KILLS * 5_000,
);

async function ended(of: World, id: string): Promise<AgentEvent[]> {
  await of.until(id, (job) => job.endedAt !== undefined, 120_000);
  return of.events(id);
}
