import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { carriersOf } from '../../src/process/sweep.ts';
import { openClient } from '../../src/surfaces/client/client.ts';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

const DAEMON = join(import.meta.dirname, '../../src/programs/daemon/daemon.ts');
const REEF = join(import.meta.dirname, '../../bin/reef.cjs');

let world: World;
beforeAll(() => {
  world = makeWorld();
  world.configure({ timings: { linger: 50 } });
});
afterAll(() => world.close());

async function reef(args: string[], place: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const child = spawn(process.execPath, [REEF, ...args], {
    cwd: place.cwd ?? world.repository,
    env: place.env ?? world.env,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

/** The code, the exit and that there is a word on what to do next. */
function refused({ code, stderr }: { code: number; stderr: string }) {
  const [first = '', ...rest] = stderr.trim().split('\n');
  return { exit: code, error: first.split(':')[0], hasHint: rest.join('').trim().length > 20 };
}

const said = (exit: number, error: string) => ({ exit, error, hasHint: true });

verifies('A-56', 'U-02', 'U-03').test(
  'an unknown agent, and one that is not installed, are refused before there is a job',
  async () => {
    const unknown = await reef(['spawn', 'nobody', 'x']);
    const missing = await reef(['spawn', 'codex', 'x'], { env: { ...world.env, PATH: '/usr/bin:/bin' } });
    const { jobs } = await world.client.call('status', {});
    expect([refused(unknown), refused(missing), jobs]).toEqual([
      said(2, 'agent_unknown'),
      said(69, 'agent_not_installed'),
      [],
    ]);
  },
);

verifies('A-149', 'Q-37').test('an unknown id is an error everywhere', async () => {
  const calls = [
    ['status', 'zzz'],
    ['output', 'zzz'],
    ['kill', 'zzz'],
    ['send', 'zzz', 'hi'],
    ['interrupt', 'zzz'],
    ['resume', 'zzz'],
  ];
  const results = await Promise.all(calls.map((args) => reef(args)));
  expect(results.map(refused)).toEqual(calls.map(() => said(4, 'job_not_found')));
});

verifies('A-149').test('a job that is over takes no message', async () => {
  const { agentId } = await world.client.call('spawn', { agent: world.script('short', [{ say: 'hi' }]), task: 'x' });
  await world.until(agentId, (job) => job.status === 'completed');
  expect(refused(await reef(['send', agentId, 'more']))).toEqual(said(1, 'job_ended'));
});

test('a folder that is in no repository is refused, with the way out', async () => {
  const folder = temporaryFolder();
  const result = await reef(['ps'], { cwd: folder });
  expect(refused(result)).toEqual(said(2, 'not_a_repository'));
});

test('a script that is wrong names its line', async () => {
  const agent = world.script('wrong', [{ say: 'ok' }, { dance: 1 }]);
  const result = await reef(['spawn', agent, 'x']);
  expect([refused(result), result.stderr.includes('line 2')]).toEqual([said(2, 'script_invalid'), true]);
});

verifies('Q-36').test(
  'an agent that never reads holds nobody up, and the message is not called delivered',
  async () => {
    const deaf = join(import.meta.dirname, '../fixtures/programs/never-reads.sh');
    world.configure({ timings: { linger: 50 }, agents: { 'acp:deaf': { command: ['/bin/sh', deaf] } } });
    const { agentId } = await world.client.call('spawn', { agent: 'acp:deaf', task: 'x' });
    await world.until(agentId, (job) => job.status === 'running');
    const sent = await world.client.call('send', { id: agentId, text: 'y'.repeat(200_000) });
    const other = await world.client.call('spawn', { agent: world.script('other', [{ say: 'hi' }]), task: 'x' });
    const done = await world.until(other.agentId, (job) => job.status === 'completed');
    await world.client.call('kill', { id: agentId });
    expect({ delivered: sent.delivered, other: done.status }).toEqual({ delivered: false, other: 'completed' });
  },
);

const STILL_ENDING = /^job \w+ is still ending after 0\.1 s: \d+ of its processes are left: \d+ \w+/;

verifies('Q-24').test(
  'a kill that takes longer than it waits says what is still ending, and the next one waits for the end',
  async () => {
    world.configure({ timings: { linger: 50, kill: 100 } });
    const agent = world.script('deaf', [{ deaf: null }, { say: 'ready' }, { sleep: 600_000 }]);
    const { agentId: id } = await world.client.call('spawn', { agent, task: 'x' });
    await world.until(id, ({ lastOutput }) => lastOutput.includes('ready'));
    const refused = await world.client.call('kill', { id }).catch((error: unknown) => errorBody(error).error);
    const [message, node] = [expect.stringMatching(STILL_ENDING), { pid: expect.any(Number), program: 'node' }];
    const details = { processes: expect.arrayContaining([node]) };
    expect(refused).toMatchObject({ code: 'still_ending', retryable: true, message, details });
    world.configure({ timings: { linger: 50 } });
    const { status } = await eventually(
      () => world.client.call('kill', { id }).catch(() => ({ status: 'running' })),
      (answer) => answer.status !== 'running',
    );
    expect([status, await carriersOf(id)]).toEqual(['killed', []]);
  },
);

verifies('Q-08').test('a second daemon leaves at once and disturbs nothing', async () => {
  const before = await world.client.daemon();
  const child = spawn(process.execPath, [DAEMON, '--home', world.home.dir], { env: world.env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  const after = await world.client.daemon();
  expect({ code, same: after?.pid === before?.pid }).toEqual({ code: 0, same: true });
});

verifies('Q-08').test(
  'many commands at once on a cold home start one daemon',
  async () => {
    const cold = makeWorld();
    try {
      const clients = Array.from({ length: 50 }, () =>
        openClient({ env: readEnvironment(cold.env), cwd: cold.repository, surface: 'cli' }),
      );
      await Promise.all(clients.map((client) => client.call('status', {})));
      const pids = new Set(await Promise.all(clients.slice(0, 10).map(async (client) => (await client.daemon())?.pid)));
      expect(pids.size).toBe(1);
      // It answers before it says so.
      const ups = () => readFileSync(cold.home.log, 'utf8').match(/the daemon is up/g);
      await expect.poll(ups).toHaveLength(1);
    } finally {
      await cold.close();
    }
  },
  60_000,
);

verifies('Q-12').test(
  'a damaged database and a damaged state.json are set aside, and jobs and events come back',
  async () => {
    const hurt = makeWorld();
    try {
      hurt.configure({ timings: { linger: 50 } });
      const { agentId } = await hurt.client.call('spawn', {
        agent: hurt.script('short', [{ say: 'keep me' }]),
        task: 'x',
      });
      await hurt.until(agentId, (job) => job.status === 'completed');
      const before = await hurt.events(agentId);
      await hurt.stopDaemon();
      writeFileSync(hurt.home.database, 'not a database at all '.repeat(200));
      const after = await hurt.events(agentId);
      await hurt.stopDaemon();
      writeFileSync(hurt.home.snapshot, '{ "version": 1, "half');
      const again = await hurt.events(agentId);
      const aside = readdirSync(hurt.home.dir).filter((name) => name.includes('.bad-') && !name.endsWith('-wal'));
      expect({ after, again, aside: aside.map((name) => name.split('.bad-')[0]).sort() }).toEqual({
        after: before,
        again: before,
        aside: ['reef.db', 'state.json'],
      });
    } finally {
      await hurt.close();
    }
  },
  60_000,
);

/** Root may write anywhere, so a file in the way of the folder stands for a home that cannot be written. */
test('a home that cannot be written says so', async () => {
  const blocked = makeWorld();
  try {
    mkdirSync(dirname(blocked.home.dir), { recursive: true });
    writeFileSync(blocked.home.dir, 'a file where the home should be');
    const result = await reef(['ps'], { cwd: blocked.repository, env: blocked.env });
    expect(refused(result)).toEqual(said(69, 'home_not_writable'));
  } finally {
    await blocked.close();
  }
});

test('a configuration that is wrong names its place', async () => {
  const wrong = makeWorld();
  try {
    await wrong.client.call('status', {});
    wrong.configure({ agents: { claude: { command: 'red' } } });
    const result = await reef(['spawn', 'claude', 'x'], { cwd: wrong.repository, env: wrong.env });
    expect([refused(result), result.stderr.includes('agents.claude')]).toEqual([said(2, 'config_invalid'), true]);
  } finally {
    await wrong.close();
  }
});
