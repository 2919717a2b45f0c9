import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { RunResult, RunSpec } from '../base/programs.ts';
import { TAG_VARIABLE } from './process-table.ts';
import { startChild } from './start-child.ts';
import { sweep } from './sweep.ts';

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Runs a short command until its output ends: a background child that holds the output counts as running. At the timeout the
 * whole tree is killed. Rejects only if the program cannot be started.
 */
export async function run(spec: RunSpec): Promise<RunResult> {
  const tag = `run-${randomUUID()}`;
  const env = { ...spec.env, [TAG_VARIABLE]: tag };
  // A group of its own, so that the group can be killed.
  const child = await startChild(spec, () =>
    spawn(spec.file, spec.args, { cwd: spec.cwd, env, stdio: 'pipe', detached: true }),
  );
  const stdout = collect(child.stdout, spec.maxBytes ?? MAX_BYTES);
  const stderr = collect(child.stderr, spec.maxBytes ?? MAX_BYTES);
  child.stdin.on('error', () => {}); // EPIPE: the program did not want its input
  child.stdin.end(spec.input ?? '');

  let killing: Promise<void> | undefined;
  const timer = setTimeout(() => {
    killing = killRun(child, tag);
  }, spec.timeoutMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  await killing;
  return {
    code,
    signal,
    stdout: stdout.bytes(),
    stderr: stderr.bytes(),
    timedOut: killing !== undefined,
    truncated: stdout.isTruncated() || stderr.isTruncated(),
  };
}

async function killRun(child: ChildProcess, tag: string): Promise<void> {
  // Its pid is not reused before Node has seen it end; after that only the tag is safe.
  const isUnreaped = child.exitCode === null && child.signalCode === null;
  if (isUnreaped && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  await sweep(tag);
  // One that left the group and cleared its environment may still hold the pipes.
  child.stdout?.destroy();
  child.stderr?.destroy();
}

function collect(stream: Readable, maxBytes: number) {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  let truncated = false;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, room);
    truncated ||= part.length < chunk.length;
    if (part.length > 0) chunks.push(part);
    room -= part.length;
  });
  return { bytes: () => Buffer.concat(chunks), isTruncated: () => truncated };
}
