import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import { DaemonError, isErrorBody } from './request.ts';

interface Start {
  home: Pick<Home, 'dir' | 'socket' | 'log' | 'daemon'>;
  /** Starts the daemon as a process of its own. Of several, the lock of the home lets one stay. */
  launch(): Launched | Promise<Launched>;
  limitMs?: number;
  /** Called once, when it takes longer than a person waits without wondering. */
  onSlow?: (() => unknown) | undefined;
}

const POLL_MS = 20;
const SLOW_MS = 1_500;
/** For a daemon that hangs. One that ended is noticed at once, and a busy machine may start it slowly. */
const LIMIT_MS = 60_000;
/** A daemon that ended at once has lost the lock, perhaps to one that is just ending. Or it cannot start at all. */
const RELAUNCH_AFTER_MS = [250, 500, 1_000];
/** A marker this old was left by a command that was killed. */
const STALE_MARKER_MS = 5_000;
const LOG_TAIL_BYTES = 2_048;

type Launched = { pid: number | undefined };

/** Resolves when a daemon listens at the socket of the home, whoever started it. */
export async function startDaemon({ home, launch, limitMs = LIMIT_MS, onSlow }: Start): Promise<void> {
  await makeHome(home.dir);
  const marker = join(home.dir, 'daemon.starting');
  const begun = systemClock.monotonicMs();
  const pauses = [...RELAUNCH_AFTER_MS];
  let ours: Launched | undefined;
  let tell = onSlow;
  const step = async (): Promise<boolean> => {
    if (!ours) {
      if (await takeTurn(marker)) ours = await launch();
      return true;
    }
    if (isAlive(ours.pid)) {
      await keep(marker);
      return true;
    }
    const reason = await failureOf(home.daemon, ours.pid);
    if (reason) throw reason;
    const pause = pauses.shift();
    if (pause === undefined) return false;
    await systemClock.sleep(pause);
    if (!(await listens(home.socket))) ours = await launch();
    return true;
  };
  try {
    while (!(await listens(home.socket))) {
      const waitedMs = systemClock.monotonicMs() - begun;
      if (waitedMs > limitMs || !(await step())) throw await unavailable(home.log, waitedMs);
      if (waitedMs > SLOW_MS) {
        tell?.();
        tell = undefined;
      }
      await systemClock.sleep(POLL_MS);
    }
  } finally {
    if (ours) await rm(marker, { force: true });
  }
}

/** Why the daemon with this pid could not start, as it said itself. */
async function failureOf(file: string, pid: number | undefined): Promise<DaemonError | undefined> {
  const said = parseJson(await readFile(file, 'utf8').catch(() => ''));
  const { pid: by, failed } = (said.ok ? said.value : {}) as { pid?: unknown; failed?: unknown };
  return by === pid && isErrorBody(failed) ? new DaemonError(failed) : undefined;
}

/** Of many commands that find no daemon, the one that makes the marker starts one. The others wait. */
async function takeTurn(marker: string): Promise<boolean> {
  try {
    await (await open(marker, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw notWritable(marker, error);
  }
  const age = await stat(marker).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  );
  if (age > STALE_MARKER_MS) await rm(marker, { force: true });
  return false;
}

/** Shows the other commands that this one still waits for the daemon. */
async function keep(marker: string): Promise<void> {
  const now = new Date();
  await utimes(marker, now, now).catch(() => {}); // taken for stale while we were stopped
}

async function makeHome(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw notWritable(dir, error);
  });
}

function notWritable(path: string, cause: unknown): ReefError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ReefError('home_not_writable', `Cannot write ${path}: ${reason}`, { cause });
}

export function listens(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    connection.once('connect', () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function unavailable(log: string, waitedMs: number): Promise<ReefError> {
  const tail = await logTail(log);
  const seconds = Math.round(waitedMs / 1000);
  return new ReefError('daemon_unavailable', `The daemon did not start within ${seconds} s`, {
    details: { log, ...(tail ? { tail } : {}) },
  });
}

async function logTail(path: string): Promise<string> {
  const size = (await stat(path).catch(() => undefined))?.size;
  if (size === undefined) return '';
  const start = Math.max(0, size - LOG_TAIL_BYTES);
  const tail = await text(createReadStream(path, { start }));
  return start > 0 ? tail.slice(tail.indexOf('\n') + 1) : tail;
}
