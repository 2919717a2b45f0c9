import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  fixture,
  jobSpec,
  ring,
  startJob,
  startTree,
  survivorsOf,
  type TestJob,
  TREE_SIZE,
  textOf,
} from '../../test/support/programs.ts';
import { scale, tier } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { type Capabilities, probeCapabilities } from './capabilities.ts';
import { FifoWriter } from './fifo.ts';
import { adopt, identify, type ProcessIdentity } from './identity.ts';
import { launch } from './launch.ts';
import { readLaunch } from './launch-folder.ts';
import { processRows } from './process-table.ts';
import { endTree } from './tree.ts';

const capabilities = await probeCapabilities();
const gone = { survivors: 0, waitedMs: 0 };
const timed = { survivors: 0, waitedMs: expect.any(Number) };

describe('a job leaves nothing behind', () => {
  /** How a job can end, each with the code its wrapper writes down. */
  const endings: { name: string; code: number; end(job: TestJob): unknown }[] = [
    { name: 'exit', code: 7, end: (job) => writeLine(job, '7') },
    { name: 'kill', code: 143, end: (job) => endTree(job, { graceMs: 5_000 }) },
    { name: 'ceiling', code: 124, end: ring },
  ];
  const jobs = scale('Q-20', { test: 20, faults: 1_000, soak: 10_000 });

  verifies('Q-20', 'Q-26')
    .needs(capabilities.namespaces !== 'none', 'namespaces are forbidden here')
    .test(
      `none of ${jobs} trees outlives its job`,
      async () => {
        for (let done = 0; done < jobs; done += 4) {
          const batch = [0, 1, 2, 3].map((index) => endings[(done + index) % endings.length]);
          await Promise.all(batch.map((ending) => ending && checkEnding(ending)));
        }
      },
      90_000 + jobs * 2_000,
    );

  async function checkEnding(ending: (typeof endings)[number]): Promise<void> {
    const job = await startTree(capabilities);
    await ending.end(job);
    const { code } = await until('the exit is written', () => readLaunch(job.dir).exit);
    const left = survivorsOf(job.nonce);
    expect({ name: ending.name, code, left }).toEqual({ name: ending.name, code: ending.code, left: [] });
  }
});

describe('ending a tree', () => {
  verifies('Q-24').test('an agent that obeys SIGTERM ends by its own code', async () => {
    const job = await startJob('says-goodbye.sh', capabilities);
    const ended = await endTree(job, { graceMs: 5_000 });
    const { exit } = readLaunch(job.dir);
    expect({ ended, said: job.said(), code: exit?.code }).toEqual({ ended: timed, said: 'ready\ngoodbye\n', code: 5 });
  });

  test('an agent without handlers dies of SIGTERM: it is not the first process of its namespace', async () => {
    const job = await startJob('never-reads.sh', capabilities);
    await endTree(job, { graceMs: 5_000 });
    expect(readLaunch(job.dir).exit?.code).toBe(143);
  });

  const deaf = scale('Q-24', { test: 10, faults: 500, soak: 500 });
  verifies('Q-24').test(
    `each of ${deaf} agents deaf to SIGTERM is killed when its grace is over`,
    async () => {
      const graceMs = tier() === 'test' ? 200 : 5_000;
      for (let done = 0; done < deaf; done += 10) {
        await Promise.all(Array.from({ length: Math.min(10, deaf - done) }, () => checkDeaf(graceMs)));
      }
    },
    90_000 + deaf * 1_000,
  );

  async function checkDeaf(graceMs: number): Promise<void> {
    const job = await startJob('deaf.sh', capabilities);
    await until('it sleeps', () => survivorsOf(job.nonce).length === 1);
    const ended = await endTree(job, { graceMs });
    const after = survivorsOf(job.nonce).length;
    const { exit } = readLaunch(job.dir);
    expect({ ended, after, code: exit?.code }).toEqual({ ended: timed, after: 0, code: 137 });
    expect(ended.waitedMs).toBeGreaterThanOrEqual(graceMs);
    if (tier() !== 'test') expect(ended.waitedMs).toBeLessThan(6_000);
  }

  verifies('Q-24').test('a second kill gives the same answer at once', async () => {
    const job = await startTree(capabilities);
    const first = await endTree(job, { graceMs: 5_000 });
    expect([first, await endTree(job, { graceMs: 5_000 })]).toEqual([timed, gone]);
  });

  verifies('Q-24').test('two kills at once both end with nothing left', async () => {
    const job = await startTree(capabilities);
    const both = await Promise.all([endTree(job, { graceMs: 5_000 }), endTree(job, { graceMs: 5_000 })]);
    expect({ both, left: survivorsOf(job.nonce) }).toEqual({ both: [timed, timed], left: [] });
  });

  verifies('Q-24').test('an agent hears SIGTERM once, however young it is', async () => {
    const program = { file: process.execPath, args: [fixture('counts-signals.mjs')] };
    for (const machine of [capabilities, { ...capabilities, timeout: undefined }]) {
      const job = await startJob('counts-signals.mjs', machine, program);
      await endTree(job, { graceMs: 5_000 });
      expect({ said: job.said(), code: readLaunch(job.dir).exit?.code }).toEqual({ said: 'ready\nheard 1\n', code: 5 });
    }
  });

  test('a job killed at any moment of its start does not use up its grace, whether its agent is there to hear it or not', async () => {
    const codes: unknown[] = [];
    for (let ms = 0; ms < 16; ms += 2) codes.push(await killAfter(ms));
    // 143: it heard SIGTERM; 137: there was no agent yet.
    expect(codes.filter((code) => code !== 143 && code !== 137)).toEqual([]);
  });

  async function killAfter(ms: number): Promise<number | undefined> {
    const folder = temporaryFolder();
    const spec = jobSpec('never-reads.sh', folder);
    const identity = await launch(spec, capabilities);
    const deadline = performance.now() + ms;
    while (performance.now() < deadline); // a timer would not be as exact
    const hadBegun = textOf(join(spec.dir, 'begun')) !== '';
    const ended = await endTree({ identity, tag: spec.tag }, { graceMs: 5_000 });
    expect({ ended, left: survivorsOf(spec.nonce) }).toEqual({ ended: timed, left: [] });
    expect(ended.waitedMs).toBeLessThan(5_000); // a SIGTERM that nobody heard costs all of it
    if (hadBegun) expect(readLaunch(spec.dir).exit?.code).toBe(143);
    return readLaunch(spec.dir).exit?.code;
  }

  verifies('Q-23').test('a record that names an innocent process leaves it untouched', async () => {
    const innocent = spawn('sh', ['-c', 'sleep 600 & wait'], { detached: true });
    const real = identify(innocent.pid ?? 0);
    if (!real) throw new Error('not identified');
    const forged: ProcessIdentity[] = [
      { ...real, startTime: '1' },
      { ...real, bootId: 'another' },
      real, // right in all three, and still no wrapper of this job
    ];
    const answers = [];
    for (const identity of forged) answers.push(await endTree({ identity, tag: 'job-forged' }, { graceMs: 100 }));
    const state = adopt(real);
    process.kill(-real.pid, 'SIGKILL');
    expect({ answers, state }).toEqual({ answers: [gone, gone, gone], state: 'alive' });
  });

  verifies('Q-23', 'Q-53').test('the wrapper of another job is not ended under our tag', async () => {
    const other = await startTree(capabilities);
    const ended = await endTree({ identity: other.identity, tag: 'job-mine' }, { graceMs: 100 });
    const left = survivorsOf(other.nonce).length;
    await endTree(other, { graceMs: 5_000 });
    expect({ ended, left }).toEqual({ ended: gone, left: TREE_SIZE });
  });
});

describe('what holds the tree together is killed from outside', () => {
  test.each([
    { name: 'timeout', place: 0, code: 137 },
    { name: 'unshare', place: 1, code: 137 },
    { name: 'the first process of the namespace', place: 2, code: 1 }, // what unshare makes of it
  ])('$name dies: the job ends and leaves nothing', async ({ place, code }) => {
    const job = await startTree(capabilities);
    process.kill(chainOf(job)[place] ?? Number.NaN, 'SIGKILL');
    const exit = await until('the exit is written', () => readLaunch(job.dir).exit);
    expect({ left: survivorsOf(job.nonce), code: exit.code }).toEqual({ left: [], code });
  });

  test('the wrapper dies: its tree runs on and is found by its tag', async () => {
    const job = await startTree(capabilities);
    process.kill(job.identity.pid, 'SIGKILL');
    await until('the wrapper is dead', () => adopt(job.identity) === 'dead');
    const before = survivorsOf(job.nonce).length;
    const ended = await endTree(job, { graceMs: 100 });
    await until('the kernel has emptied the namespace', () => survivorsOf(job.nonce).length === 0);
    expect({ before, ended, record: readLaunch(job.dir) }).toEqual({
      before: TREE_SIZE,
      ended: timed,
      record: { identity: job.identity },
    });
  });
});

describe('other machines', () => {
  const isRoot = process.getuid?.() === 0;
  verifies('Q-20')
    .needs(isRoot, 'only root may make a PID namespace alone')
    .test('a PID namespace made by root: kill and ceiling leave nothing behind', () =>
      checkMachine({ ...capabilities, namespaces: 'pid' }),
    );

  verifies('Q-20', 'Q-26').test('perl in place of timeout: kill and ceiling leave nothing behind', () =>
    checkMachine({ ...capabilities, timeout: undefined }),
  );

  async function checkMachine(machine: Capabilities): Promise<void> {
    const killed = await startTree(machine);
    const timedOut = await startTree(machine);
    const ended = await endTree(killed, { graceMs: 5_000 });
    ring(timedOut);
    await until('the ceiling', () => readLaunch(timedOut.dir).exit);
    expect({
      ended,
      codes: [killed, timedOut].map((job) => readLaunch(job.dir).exit?.code),
      left: [killed, timedOut].flatMap((job) => survivorsOf(job.nonce)),
    }).toEqual({ ended: timed, codes: [143, 124], left: [] });
  }

  test('perl in place of timeout kills what is deaf 5 s after the ceiling', async () => {
    const job = await startJob('deaf.sh', { ...capabilities, timeout: undefined }, { ceilingMs: 3_000 });
    await until('the exit is written', () => readLaunch(job.dir).exit);
    expect({ code: readLaunch(job.dir).exit?.code, left: survivorsOf(job.nonce) }).toEqual({ code: 137, left: [] });
  });

  test('without namespaces the tag finds all but the one with a cleared environment, which is a listed gap', async () => {
    const job = await startTree({ ...capabilities, namespaces: 'none' });
    const before = survivorsOf(job.nonce).length;
    writeLine(job, '7');
    await until('the exit is written', () => readLaunch(job.dir).exit);
    const left = survivorsOf(job.nonce);
    for (const pid of left) process.kill(pid, 'SIGKILL');
    expect({ before, left: left.length }).toEqual({ before: TREE_SIZE, left: 1 });
  });
});

function writeLine(job: TestJob, line: string): void {
  const input = new FifoWriter(`${job.dir}/in`);
  input.write(Buffer.from(`${line}\n`));
  input.close();
}

/** The pids of timeout, unshare and the namespace's first process, in this order. */
function chainOf(job: TestJob): number[] {
  const rows = processRows();
  const childOf = (pid: number) => rows.find((row) => row.parent === pid)?.pid ?? Number.NaN;
  const timeout = childOf(job.identity.pid);
  const unshare = childOf(timeout);
  return [timeout, unshare, childOf(unshare)];
}
