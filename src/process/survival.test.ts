import { join } from 'node:path';
import { expect } from 'vitest';
import { jobSpec, lineOf, startLauncher, survivorsOf, TREE_SIZE, textOf } from '../../test/support/programs.ts';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { probeCapabilities } from './capabilities.ts';
import { FifoWriter } from './fifo.ts';
import { adopt, type ProcessIdentity } from './identity.ts';
import type { LaunchSpec } from './launch.ts';
import { readLaunch } from './launch-folder.ts';
import { processRow } from './process-table.ts';
import { endTree } from './tree.ts';

const capabilities = await probeCapabilities();

/** Launches from a process of its own and ends that by a signal to its whole group. */
async function launchedAndLeft(spec: LaunchSpec & { nonce: string }, by: NodeJS.Signals) {
  const launcher = startLauncher('durable', spec, capabilities);
  await lineOf(launcher, 0);
  const identity = await until('the launch is recorded', () => readLaunch(spec.dir).identity);
  process.kill(-(launcher.pid ?? Number.NaN), by);
  await until('the launcher is gone', () => launcher.signalCode ?? undefined);
  return { identity, tag: spec.tag, spec, said: () => textOf(join(spec.dir, 'out')) };
}

const rounds = scale('Q-21', { test: 5, faults: 300, soak: 3_000 });
verifies('Q-21', 'Q-25').test(
  `an agent runs on when its launcher is killed, answers another process, and its end is kept (${rounds} times)`,
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const folder = temporaryFolder();
      const job = await launchedAndLeft(jobSpec('repeats-input.sh', folder), 'SIGKILL');
      await until('it is ready', () => job.said() === 'ready\n');
      const adopted = adopt(job.identity);
      const input = new FifoWriter(join(job.spec.dir, 'in'));
      input.write(Buffer.from('still there?\nend\n'));
      input.close();
      const exit = await until('its end', () => readLaunch(job.spec.dir).exit);
      expect({ adopted, said: job.said(), code: exit.code }).toEqual({
        adopted: 'alive',
        said: 'ready\nstill there?\n',
        code: 3,
      });
    }
  },
  90_000 + rounds * 2_000,
);

verifies('Q-21', 'Q-24').test('a tree whose launcher is gone is ended by another process', async () => {
  const folder = temporaryFolder();
  const job = await launchedAndLeft(jobSpec('tree.sh', folder), 'SIGKILL');
  await until('the tree stands', () => survivorsOf(job.spec.nonce).length === TREE_SIZE);
  const before = survivorsOf(job.spec.nonce).length;
  const ended = await endTree(job, { graceMs: 5_000 });
  expect({ before, ended, after: survivorsOf(job.spec.nonce) }).toEqual({
    before: TREE_SIZE,
    ended: { survivors: 0, waitedMs: expect.any(Number) },
    after: [],
  });
});

verifies('Q-26', 'Q-20').test('the ceiling holds although nobody watches, also for what is deaf', async () => {
  const folder = temporaryFolder();
  const [tree, deaf] = await Promise.all([
    launchedAndLeft(jobSpec('tree.sh', folder, { dir: join(folder, 'a'), ceilingMs: 3_000 }), 'SIGKILL'),
    launchedAndLeft(jobSpec('deaf.sh', folder, { dir: join(folder, 'b'), ceilingMs: 3_000 }), 'SIGKILL'),
  ]);
  const codes = [];
  for (const { spec } of [tree, deaf]) {
    codes.push((await until('its end', () => readLaunch(spec.dir).exit)).code);
  }
  const left = [tree, deaf].map(({ spec }) => survivorsOf(spec.nonce));
  expect({ said: [tree.said(), deaf.said()], codes, left }).toEqual({
    said: ['ready\n', 'ready\n'],
    codes: [124, 137],
    left: [[], []],
  });
});

verifies('Q-29').test('a hang-up of the launcher and its terminal ends no job', async () => {
  const folder = temporaryFolder();
  const job = await launchedAndLeft(jobSpec('tree.sh', folder), 'SIGHUP');
  await until('the tree stands', () => survivorsOf(job.spec.nonce).length === TREE_SIZE);
  const members = survivorsOf(job.spec.nonce).length;
  const session = sessionOf(job.identity);
  await endTree(job, { graceMs: 5_000 });
  expect({ members, session }).toEqual({ members: TREE_SIZE, session: job.identity.pid });
});

function sessionOf(identity: ProcessIdentity): number | undefined {
  return processRow(identity.pid)?.session;
}
