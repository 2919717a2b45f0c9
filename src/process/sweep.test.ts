import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixture, lineOf, newNonce, PATH, startLauncher, survivorsOf, textOf } from '../../test/support/programs.ts';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { type BoundSpec, launchBound } from './bound.ts';
import { probeCapabilities } from './capabilities.ts';
import { identify } from './identity.ts';
import { sweep, sweepOrphans, tagged } from './sweep.ts';

const capabilities = await probeCapabilities();

/** The four-process tree, started by hand and held by nothing. */
async function plainTree(nonce: string) {
  const env = { PATH, REEF_JOB: `job-${nonce}` };
  const child = spawn(fixture('tree.sh'), [nonce], { env, detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  await until('the tree stands', () => survivorsOf(nonce).length === 4);
  return { tag: env.REEF_JOB, group: child.pid ?? Number.NaN };
}

/** Somebody with a tag, which can be read a moment after the program has started. */
async function sleeper(tag: string) {
  const child = spawn('sleep', ['600'], { env: { PATH, REEF_JOB: tag } });
  await until('its tag is there', () => textOf(`/proc/${child.pid}/environ`).includes(`REEF_JOB=${tag}\0`));
  return child;
}

/** The check every ending has to pass. */
function leftBy(nonce: string): number {
  return survivorsOf(nonce).length;
}

test('a sweep kills what carries the tag and says what it killed', async () => {
  const nonce = newNonce();
  const { tag } = await plainTree(nonce);
  const { reaped, left } = await sweep(tag);
  await until('all but the one with a cleared environment are gone', () => leftBy(nonce) === 1);
  killAll(nonce);
  expect({ reaped: reaped.length >= 4, left }).toEqual({ reaped: true, left: [] });
});

test('a sweep touches neither another tag nor one that merely begins alike', async () => {
  const tag = `job-${newNonce()}`;
  const children = await Promise.all([tag, `${tag}2`, '', 'other'].map(sleeper));
  const before = children.map((child) => identify(child.pid ?? 0));
  const swept = await sweep(tag);
  await until('it is gone', () => identify(children[0]?.pid ?? 0) === undefined);
  const after = children.map((child) => identify(child.pid ?? 0));
  for (const child of children) child.kill('SIGKILL');
  expect({ swept, after }).toEqual({
    swept: { reaped: [before[0]], left: [] },
    after: [undefined, ...before.slice(1)],
  });
});

test('all tagged processes are listed with their tag', async () => {
  const tag = `job-${newNonce()}`;
  const child = await sleeper(tag);
  const identity = identify(child.pid ?? 0);
  const mine = (await tagged()).filter((each) => each.tag === tag);
  child.kill('SIGKILL');
  expect(mine).toEqual([{ tag, identity }]);
});

verifies('Q-96').test('the survivors check turns red when only the process group is killed', async () => {
  const nonce = newNonce();
  const { group } = await plainTree(nonce);
  process.kill(-group, 'SIGKILL');
  await until('the group is gone', () => leftBy(nonce) <= 2);
  const left = leftBy(nonce);
  killAll(nonce);
  expect(left).toBe(2); // the two that called setsid
});

function killAll(nonce: string): void {
  for (const pid of survivorsOf(nonce)) process.kill(pid, 'SIGKILL');
}

const kills = scale('Q-111', { test: 12, faults: 300, soak: 1_000 });
verifies('Q-111', 'Q-23')
  .needs(capabilities.bubblewrap !== undefined, 'bubblewrap is not installed or not allowed')
  .test(
    `nothing is left of sandboxes whose owner was killed while it started them (${kills} times), and those of others stay`,
    async () => {
      const folder = temporaryFolder();
      const specOf = (tag: string): BoundSpec => {
        const scratch = join(folder, tag);
        const sandbox = { kind: 'bubblewrap', writable: [folder], hidden: [], network: 'none', scratch } as const;
        return { file: '/bin/sleep', args: ['600'], cwd: folder, env: { PATH }, tag, sandbox };
      };
      const ours = await launchBound(specOf('ours'), capabilities);
      const carriers = async (name: string) => (await tagged()).filter(({ tag }) => tag.startsWith(`${name}@`));
      let started = 0;
      for (let n = 0; n < kills; n += 1) {
        const name = `q111-${process.pid}-${n}`;
        const launcher = startLauncher('bound-again', specOf(name), capabilities);
        await lineOf(launcher, n % 2); // as it begins the first one, or is about to begin the second
        started += (await carriers(name)).length;
        launcher.kill('SIGKILL');
        await until('the owner is gone', () => launcher.signalCode ?? undefined);
        await sweepOrphans();
        expect(await carriers(name)).toEqual([]);
      }
      // The faults fired: the kills met sandboxes.
      expect([started > 0, (await carriers('ours')).length > 0]).toEqual([true, true]);
      await ours.close({ graceMs: 0 });
    },
    60_000 + kills * 5_000,
  );
