import { afterAll, expect } from 'vitest';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const world = makeWorld();
afterAll(() => world.close(), 180_000); // a thousand jobs

const QUEUED = 1_000;
const AT_ONCE = 2;

verifies('A-144', 'Q-30').test(
  'two daemons in turn take what fits in the queue under ids that never repeat, and refuse the next until there is room',
  async () => {
    world.configure({ maxJobs: AT_ONCE });
    const agent = world.script('sleeper', [{ sleep: 600_000 }]);
    const spawn = async () => (await world.client.call('spawn', { agent, task: 'wait' })).agentId;
    const ids: string[] = [];
    while (ids.length < QUEUED / 2) ids.push(await spawn());
    await world.killDaemon();
    while (ids.length < QUEUED + AT_ONCE) ids.push(await spawn());
    const refused = await spawn().catch((error) => errorBody(error).error);
    expect(refused).toMatchObject({ code: 'queue_full', retryable: true });
    expect(new Set(ids).size).toBe(QUEUED + AT_ONCE);
    const { jobs } = await world.client.call('status', {});
    const running = jobs.filter(({ status }) => status === 'running');
    expect(running.map(({ id }) => id).sort()).toEqual(ids.slice(0, AT_ONCE).sort());
    await world.client.call('kill', { id: ids.at(-1) ?? '' });
    expect(ids).not.toContain(await spawn());
  },
  180_000,
);
