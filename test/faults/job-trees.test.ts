import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { makeWorld, type World } from '../e2e/harness.ts';
import { survivorsOf, TREE_SIZE } from '../support/programs.ts';
import { scale } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

const JOBS = scale('Q-20', { test: 40, faults: 1_000, soak: 10_000 });
const TREE = join(import.meta.dirname, '../fixtures/programs/tree.sh');
const AT_ONCE = 8;

const worlds: World[] = [];
afterAll(async () => {
  for (const world of worlds) await world.close();
});

function newWorld(config: object): World {
  const world = makeWorld();
  world.configure({ maxJobs: AT_ONCE, ...config });
  worlds.push(world);
  return world;
}

/** Starts the tree in the background, with nothing of ours in its hands, and waits until it says that it is there. */
function plantTree(nonce: string) {
  const said = join(tmpdir(), `reef-tree-${nonce}`);
  const wait = `until grep -q ready ${said}; do sleep 0.05; done; rm ${said}`;
  return { shell: ['sh', '-c', `sh ${TREE} ${nonce} </dev/null >${said} 2>&1 & ${wait}`] };
}

/** How a job can end, as steps behind the tree. `kill` waits to be killed. */
const endings = {
  exit: [{ exit: 0 }],
  failure: [{ exit: 7 }],
  crash: [{ crash: 'SIGKILL' }],
  linger: [{ say: 'done' }],
  kill: [{ sleep: 600_000 }],
};
type EndingName = keyof typeof endings;

const alive = (nonce: string) => survivorsOf(nonce).length;

async function plant(world: World, how: { name: EndingName; nonce: string }): Promise<string> {
  const agent = world.script(`tree-${how.nonce}`, [plantTree(how.nonce), { say: 'planted' }, ...endings[how.name]]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'grow' });
  return agentId;
}

const isOver = (job: { status: string }) => ['completed', 'error', 'killed'].includes(job.status);

/** Returns how many of the tree were seen before the end, and after it. */
async function endOne(
  world: World,
  name: EndingName,
  n: number,
): Promise<{ name: string; seen: boolean; left: number }> {
  const nonce = `${process.pid}${String(n).padStart(5, '0')}`;
  const id = await plant(world, { name, nonce });
  let seen = false;
  if (name === 'kill') {
    await world.until(id, (job) => job.lastOutput.includes('planted') || isOver(job), 60_000);
    seen = await until('the whole tree is up', () => alive(nonce) >= TREE_SIZE);
    await world.client.call('kill', { id });
  } else {
    await world.until(id, isOver, 60_000);
    const events = await world.events(id);
    seen = events.some((event) => event.type === 'progress' && event.payload.kind === 'text');
  }
  return { name, seen, left: alive(nonce) };
}

verifies('Q-20', 'Q-24', 'A-148').test(
  `${JOBS} trees with escapees, ended in every way, leave nobody behind`,
  async () => {
    const world = newWorld({ timings: { linger: 50 } });
    const names = Object.keys(endings) as EndingName[];
    const results: { name: string; seen: boolean; left: number }[] = [];
    const workers = Array.from({ length: AT_ONCE }, async (_, lane) => {
      for (let n = lane; n < JOBS; n += AT_ONCE) {
        results.push(await endOne(world, names[n % names.length] ?? 'kill', n));
      }
    });
    await Promise.all(workers);
    expect({
      ended: results.length,
      planted: results.filter(({ seen }) => seen).length,
      survivors: results.filter(({ left }) => left > 0),
    }).toEqual({ ended: JOBS, planted: JOBS, survivors: [] });
  },
  60_000 + JOBS * 3_000,
);

verifies('Q-20', 'Q-26', 'A-74').test(
  'the ceiling ends a tree though no daemon runs',
  async () => {
    const world = newWorld({ timings: { ceiling: 10_000 } });
    const nonce = `${process.pid}99999`;
    const id = await plant(world, { name: 'kill', nonce });
    await world.until(id, (job) => job.lastOutput.includes('planted'), 60_000);
    await world.killDaemon();
    const before = alive(nonce);
    await until('the ceiling has ended the tree', () => alive(nonce) === 0);
    const job = await world.until(id, isOver);
    const last = (await world.events(id)).at(-1);
    expect({
      planted: before >= TREE_SIZE,
      status: job.status,
      last: last?.type === 'error' && last.payload.code,
    }).toEqual({
      planted: true,
      status: 'error',
      last: 'ceiling',
    });
  },
  90_000,
);
