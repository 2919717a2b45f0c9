import { readdirSync, readlinkSync } from 'node:fs';
import { afterEach, expect } from 'vitest';
import { makeWorld, type World } from '../e2e/harness.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

/** What a daemon keeps of jobs that are over: no descriptor, however they ended and whoever looked on. */

const ROUNDS = scale('Q-90', { test: 3, faults: 40, soak: 200 });

let world: World;
afterEach(() => world.close());

/** By what they are, numbers left out: a pipe more is a pipe, whichever it is. */
function descriptorsOf(pid: number): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const kind = readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/\d+/g, 'N');
      kinds[kind] = (kinds[kind] ?? 0) + 1;
    } catch {
      // that of the listing itself, or one that was closed meanwhile
    }
  }
  return kinds;
}

/** One that ends, one that asks and one that is killed, each followed by a reader that waits to the end and by one that leaves. */
async function round(agents: Record<'talks' | 'asks' | 'sleeps', string>): Promise<string[]> {
  const { client } = world;
  const leaving = new AbortController();
  const readers: Promise<unknown>[] = [];
  const start = async (agent: string) => {
    const { agentId: id } = await client.call('spawn', { agent, task: 'x' });
    const follow = (options: object) => client.call('output', { id, since: '9999', waitMs: 30_000 }, options);
    readers.push(
      follow({}).catch(() => 'cut'),
      follow({ signal: leaving.signal }).catch(() => 'left'),
    );
    return id;
  };
  const [talks, asks, sleeps] = await Promise.all([start(agents.talks), start(agents.asks), start(agents.sleeps)]);
  await world.until(asks, ({ status }) => status === 'awaiting_input');
  const question = (await client.call('inbox', {})).questions.find(({ jobId }) => jobId === asks);
  await client.call('send', { id: asks, questionId: question?.questionId ?? '', option: [1] });
  await world.until(sleeps, ({ lastOutput }) => lastOutput.includes('asleep'));
  leaving.abort();
  await client.call('kill', { id: sleeps });
  const ends = await Promise.all(
    [talks, asks, sleeps].map((id) => world.until(id, ({ endedAt }) => endedAt !== undefined)),
  );
  await Promise.all(readers);
  return ends.map(({ status }) => status);
}

verifies('Q-31').test(
  `${3 * ROUNDS} jobs that ended, asked and were killed, with readers that stayed and left, leave no descriptor`,
  async () => {
    world = makeWorld();
    world.configure({ timings: { linger: 50 } });
    const agents = {
      talks: world.script('talks', [{ say: 'one' }, { say: 'two' }]),
      asks: world.script('asks', [{ ask: { question: 'Which?', options: ['a', 'b'] } }, { say: 'thanks' }]),
      sleeps: world.script('sleeps', [{ say: 'asleep' }, { sleep: 600_000 }]),
    };
    const expected = ['completed', 'completed', 'killed'];
    expect(await round(agents)).toEqual(expected);
    const { pid = 0 } = (await world.client.daemon()) ?? {};
    const first = descriptorsOf(pid);
    for (let n = 0; n < ROUNDS; n++) expect(await round(agents)).toEqual(expected);
    const more = () =>
      Object.entries(descriptorsOf(pid)).flatMap(([kind, count]) => {
        const grown = count - (first[kind] ?? 0);
        return grown > 0 ? [`${grown} more of ${kind}`] : [];
      });
    await eventually(more, (left) => left.length === 0, { what: 'no more descriptors than after the first round' });
    expect((await world.client.daemon())?.pid).toBe(pid);
  },
  120_000 + ROUNDS * 20_000,
);
