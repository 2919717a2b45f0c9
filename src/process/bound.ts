import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { ReefError } from '../protocol/errors.ts';
import type { Capabilities } from './capabilities.ts';
import { contained, type Program } from './chain.ts';
import { adopt, identityOf, type ProcessIdentity, signalGroup } from './identity.ts';
import { processRow, processRows, TAG_VARIABLE } from './process-table.ts';
import { startChild } from './start-child.ts';
import { ownedTag, sweep } from './sweep.ts';
import type { Ended } from './tree.ts';

export interface BoundSpec extends Program {
  env: Readonly<Record<string, string>>;
  /** Not the bare id of a job: whatever carries that is killed when the job ends. */
  tag: string;
}

export interface BoundProcess {
  identity: ProcessIdentity;
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Ends the whole tree, or what is left of it. May be called twice. */
  close(options: { graceMs: number }): Promise<Ended>;
}

/** Notices a parent that died before the parent-death signal was asked for. */
const WITH_PARENT = '[ "$PPID" = "$1" ] || exit 125; shift; exec "$@"';

const LAST_WAIT_MS = 5_000;
const POLL_MS = 10;

/** Starts a program that must not outlive us. Without `setpriv` (macOS) only the end of its input tells it of our end. */
export async function launchBound(spec: BoundSpec, capabilities: Capabilities): Promise<BoundProcess> {
  if (!isMainThread)
    throw new ReefError('internal', 'The parent-death signal follows the thread: launch from the main one');
  const { setpriv } = capabilities;
  const binding = setpriv
    ? [setpriv, '--pdeathsig', 'KILL', '/bin/sh', '-c', WITH_PARENT, 'sh', String(process.pid)]
    : [];
  const [file = spec.file, ...args] = [...binding, ...contained(spec, capabilities)];
  const tag = ownedTag(spec.tag);
  const env = { ...spec.env, [TAG_VARIABLE]: tag };
  const child = await startChild(spec, () => spawn(file, args, { cwd: spec.cwd, env, stdio: 'pipe', detached: true }));
  const row = processRow(child.pid ?? 0);
  if (!row) throw new ReefError('spawn_failed', `${spec.file} ended before it could be identified`);
  const identity = identityOf(row);
  child.stdin.on('error', () => {}); // EPIPE: `exited` tells
  return {
    identity,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited: new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal }))),
    close: ({ graceMs }) => {
      child.stdin.end();
      return endBound(identity, tag, graceMs);
    },
  };
}

async function endBound(identity: ProcessIdentity, tag: string, graceMs: number): Promise<Ended> {
  const startedAt = performance.now();
  const wasAlive = adopt(identity) === 'alive';
  signalGroup(identity, 'SIGTERM');
  if (!(await isGone(identity, graceMs))) signalGroup(identity, 'SIGKILL');
  await isGone(identity, LAST_WAIT_MS);
  const { reaped, left } = await sweep(tag);
  const didAnything = wasAlive || reaped.length > 0 || left.length > 0;
  return { survivors: left.length, waitedMs: didAnything ? Math.round(performance.now() - startedAt) : 0 };
}

/** A namespace's first process stays in the session until the namespace is empty. */
async function isGone(identity: ProcessIdentity, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (adopt(identity) === 'alive' || processRows().some((row) => row.isAlive && row.session === identity.pid)) {
    if (performance.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
