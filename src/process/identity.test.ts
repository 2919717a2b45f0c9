import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { textOf } from '../../test/support/programs.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { adopt, bootId, identify } from './identity.ts';

verifies('Q-23').test('a process is ours only if pid, start time and boot all match', async () => {
  const child = spawn('sleep', ['600']);
  const identity = identify(child.pid ?? 0);
  if (!identity) throw new Error('not identified');
  const answers = [
    adopt(identity),
    adopt({ ...identity, startTime: String(Number(identity.startTime) + 1) }),
    adopt({ ...identity, bootId: '00000000-0000-0000-0000-000000000000' }),
    adopt({ ...identity, pid: process.pid }),
  ];
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect([...answers, adopt(identity)]).toEqual(['alive', 'not_ours', 'not_ours', 'not_ours', 'dead']);
});

test('an identity names the boot', () => {
  expect(identify(process.pid)).toEqual({
    pid: process.pid,
    startTime: expect.stringMatching(/^\d+$/),
    bootId: bootId(),
  });
});

test('a zombie counts as dead', async () => {
  // The shell becomes a program that never reaps its child.
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 600']);
  const [chunk] = await once(parent.stdout, 'data');
  const zombie = Number(String(chunk));
  await until('the child is a zombie', () => / Z /.test(textOf(`/proc/${zombie}/stat`)));
  const answer = identify(zombie);
  parent.kill('SIGKILL');
  expect(answer).toBeUndefined();
});

test('what is no pid names no process', () => {
  expect([0, -1, 1.5, Number.NaN, 2 ** 40].map(identify)).toEqual(Array(5).fill(undefined));
});

test('a name with blanks and parentheses does not shift the fields', async () => {
  const child = spawn('/bin/sh', ['-c', 'printf "a) S 1 (b" >/proc/$$/comm; echo done; read -r _']);
  await once(child.stdout, 'data');
  const renamed = identify(child.pid ?? 0);
  const own = identify(process.pid);
  child.kill('SIGKILL');
  expect(Number(renamed?.startTime)).toBeGreaterThanOrEqual(Number(own?.startTime));
});
