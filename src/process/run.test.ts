import { expect, test, vi } from 'vitest';
import { newNonce, PATH, survivorsOf } from '../../test/support/programs.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import type { RunResult, RunSpec } from '../base/programs.ts';
import { processRow } from './process-table.ts';
import { run } from './run.ts';

const shell = (script: string, more: Partial<RunSpec> = {}) =>
  run({ file: 'sh', args: ['-c', script], cwd: '/', env: { PATH }, timeoutMs: 10_000, ...more });
const quiet = { code: 0, signal: null, stdout: Buffer.of(), stderr: Buffer.of(), timedOut: false, truncated: false };

test('a command gives its code and both of its outputs', async () => {
  const result = await shell('echo out; echo err >&2; exit 3');
  expect(result).toEqual({ ...quiet, code: 3, stdout: Buffer.from('out\n'), stderr: Buffer.from('err\n') });
});

test('a command killed by a signal names the signal', async () => {
  expect(await shell('kill -TERM $$')).toEqual({ ...quiet, code: null, signal: 'SIGTERM' });
});

test('input arrives whole, and one that is not wanted harms nothing', async () => {
  const input = 'x'.repeat(200_000);
  const results = await Promise.all([shell('cat', { input }), shell('true', { input }), shell('cat')]);
  expect(results).toEqual([{ ...quiet, stdout: Buffer.from(input) }, quiet, quiet]);
});

test('output beyond the cap is dropped, and the command runs on', async () => {
  const result = await shell('head -c 100000 /dev/zero; echo last >&2', { maxBytes: 10 });
  expect(result).toEqual({ ...quiet, stdout: Buffer.alloc(10), stderr: Buffer.from('last\n'), truncated: true });
});

verifies('X-21').test('arguments arrive literally', async () => {
  const args = ['%s|', 'a b', '$(id)', "'", '"', 'line\nbreak', '*'];
  const result = await run({ file: 'printf', args, cwd: '/', env: { PATH }, timeoutMs: 10_000 });
  expect(result.stdout.toString()).toBe('a b|$(id)|\'|"|line\nbreak|*|');
});

verifies('X-20').test('a command sees the environment it was given, and its tag', async () => {
  const result = await run({ file: 'env', args: [], cwd: '/', env: { PATH, A: 'b' }, timeoutMs: 10_000 });
  const lines = result.stdout.toString().trim().split('\n').sort();
  expect(lines).toEqual(['A=b', `PATH=${PATH}`, expect.stringMatching(/^REEF_JOB=run-/)]);
});

/** The timeout comes when this is so, and not before. */
async function timedOutWhen(isSo: () => boolean, script: string): Promise<RunResult> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const running = shell(script);
    await until('its timeout may come', () => vi.getTimerCount() > 0 && isSo());
    vi.runAllTimers();
    return await running;
  } finally {
    vi.useRealTimers();
  }
}

/** Sleeps on, and the shell that started it is gone. */
function isLeft(nonce: string): boolean {
  const grandparentOf = (pid: number) => processRow(processRow(pid)?.parent ?? 0)?.parent;
  return survivorsOf(nonce).some((pid) => grandparentOf(pid) !== process.pid);
}

test('at the timeout the whole tree is killed, also what left the group', async () => {
  const nonce = newNonce();
  const result = await timedOutWhen(
    () => survivorsOf(nonce).length === 3,
    `setsid sleep 600.${nonce} & sleep 600.${nonce} & echo out; sleep 600.${nonce}`,
  );
  await until('the tree is gone', () => survivorsOf(nonce).length === 0);
  expect(result).toEqual({ ...quiet, code: null, signal: 'SIGKILL', stdout: Buffer.from('out\n'), timedOut: true });
});

test('a background child that holds the output is ended at the timeout', async () => {
  const nonce = newNonce();
  const result = await timedOutWhen(() => isLeft(nonce), `setsid sleep 600.${nonce} & exit 4`);
  await until('the child is gone', () => survivorsOf(nonce).length === 0);
  expect(result).toEqual({ ...quiet, code: 4, timedOut: true });
});

test('one that left the group and cleared its environment cannot hold us', async () => {
  const nonce = newNonce();
  const result = await timedOutWhen(() => isLeft(nonce), `env -i /usr/bin/setsid sleep 600.${nonce} & exit 4`);
  for (const pid of survivorsOf(nonce)) process.kill(pid, 'SIGKILL');
  expect(result).toEqual({ ...quiet, code: 4, timedOut: true });
});

test('a program or a folder that does not exist is told apart', async () => {
  const failures = [shell('', { file: 'no-such-program' }), shell('', { cwd: '/no/such/folder' })];
  const codes = await Promise.all(failures.map((failure) => failure.catch((error: { code: string }) => error.code)));
  expect(codes).toEqual(['spawn_failed', 'cwd_missing']);
});
