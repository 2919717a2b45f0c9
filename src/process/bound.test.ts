import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { fixture, lineOf, newNonce, PATH, startLauncher, survivorsOf } from '../../test/support/programs.ts';
import { scale } from '../../test/support/scale.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { type BoundSpec, launchBound } from './bound.ts';
import { probeCapabilities } from './capabilities.ts';
import { adopt } from './identity.ts';

const capabilities = await probeCapabilities();
const gone = { survivors: 0, waitedMs: 0 };
const timed = { survivors: 0, waitedMs: expect.any(Number) };

function boundSpec(name: string, nonce: string, more: Partial<BoundSpec> = {}): BoundSpec {
  return { file: fixture(name), args: [nonce], cwd: '/', env: { PATH }, tag: `bound-${nonce}`, ...more };
}

const kills = scale('Q-21', { test: 5, faults: 300, soak: 3_000 });
verifies('Q-21', 'C-002').test(
  `a bound tree is gone when its daemon is killed (${kills} times)`,
  async () => {
    for (let index = 0; index < kills; index += 1) {
      const nonce = newNonce();
      const launcher = startLauncher('bound', boundSpec('tree.sh', nonce), capabilities);
      await lineOf(launcher, 0);
      await until('the tree stands', () => survivorsOf(nonce).length === 4);
      launcher.kill('SIGKILL');
      await until('the tree is gone', () => survivorsOf(nonce).length === 0);
    }
  },
  90_000 + kills * 2_000,
);

test('a program bound to a parent that has died meanwhile does not start', async () => {
  const { setpriv = '' } = capabilities;
  const lying = { ...capabilities, setpriv, namespaces: 'none' as const };
  const spec = boundSpec('tree.sh', newNonce());
  const pid = Object.getOwnPropertyDescriptor(process, 'pid');
  Object.defineProperty(process, 'pid', { ...pid, value: 1 }); // as if another had started it
  const bound = await launchBound(spec, lying).finally(() => pid && Object.defineProperty(process, 'pid', pid));
  expect({ said: await text(bound.stdout), ended: await bound.exited }).toEqual({
    said: '',
    ended: { code: 125, signal: null },
  });
});

test('a bound program talks over pipes and ends with its own code', async () => {
  const bound = await launchBound(boundSpec('repeats-input.sh', newNonce()), capabilities);
  bound.stdin.write('hello\nend\n');
  const said = await text(bound.stdout);
  const ended = await bound.exited;
  expect({ said, ended, closed: await bound.close({ graceMs: 100 }) }).toEqual({
    said: 'ready\nhello\n',
    ended: { code: 3, signal: null },
    closed: gone,
  });
});

test('closing ends the whole tree, and a second time says the same', async () => {
  const nonce = newNonce();
  const bound = await launchBound(boundSpec('tree.sh', nonce), capabilities);
  await until('the tree stands', () => survivorsOf(nonce).length === 4);
  const before = adopt(bound.identity);
  const closed = [await bound.close({ graceMs: 5_000 }), await bound.close({ graceMs: 5_000 })];
  expect({ before, closed, left: survivorsOf(nonce) }).toEqual({ before: 'alive', closed: [timed, gone], left: [] });
});

test('one deaf to SIGTERM is killed when its grace is over', async () => {
  const nonce = newNonce();
  const bound = await launchBound(boundSpec('deaf.sh', nonce), capabilities);
  await until('it runs', () => survivorsOf(nonce).length === 1);
  const closed = await bound.close({ graceMs: 100 });
  expect({ closed, left: survivorsOf(nonce), ended: await bound.exited }).toEqual({
    closed: timed,
    left: [],
    ended: { code: null, signal: 'SIGKILL' },
  });
});

test('without namespaces closing sweeps what left the group', async () => {
  const nonce = newNonce();
  const bound = await launchBound(
    boundSpec('tree.sh', nonce, { file: 'sh', args: ['-c', `setsid sleep 600.${nonce} & exit 0`] }),
    { ...capabilities, namespaces: 'none' },
  );
  await bound.exited;
  await until('its child sleeps on', () => survivorsOf(nonce).length === 1);
  const closed = await bound.close({ graceMs: 100 });
  expect({ closed, left: survivorsOf(nonce) }).toEqual({ closed: timed, left: [] });
});

test('a bound program can only be launched from the main thread', async () => {
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { launchBound } = await import(workerData.module);
    await launchBound(workerData.spec, workerData.capabilities).catch((error) => parentPort.postMessage(error.message));
  `;
  const module = new URL('bound.ts', import.meta.url).href;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: { module, spec: boundSpec('tree.sh', newNonce()), capabilities },
  });
  const message = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await worker.terminate();
  expect(message).toContain('launch from the main one');
});
