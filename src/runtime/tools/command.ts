import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { settledWithin, unlessAborted } from '../../base/wait.ts';
import { launchBound } from '../../process/bound.ts';
import type { Capabilities } from '../../process/capabilities.ts';
import { allowedEnv } from '../../process/environment.ts';
import { ReefError } from '../../protocol/errors.ts';

export interface CommandSpec {
  file: string;
  args: readonly string[];
  cwd: string;
  /** Added to the environment of every child. */
  env?: Readonly<Record<string, string>>;
  input?: string | Uint8Array;
  timeoutMs?: number;
  /** The limit of each stream. */
  maxBytes?: number;
  /** Without a network, if the machine supports that. */
  isOffline?: boolean;
  signal: AbortSignal;
}

export interface CommandResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** True if the output was larger than `maxBytes`. */
  isCut: boolean;
}

/** Runs a program. Its whole process tree is gone when it ends, times out or is cancelled, or when Reef dies. */
export type RunCommand = (spec: CommandSpec) => Promise<CommandResult>;

export interface RunCommandDeps {
  capabilities: Capabilities;
  env: Readonly<NodeJS.ProcessEnv>;
  /** Marks the processes of a job, so that its end finds them. */
  jobId?: string;
}

/** Our pipes are sockets. A bash of level 1 takes that for a remote login and runs ~/.bashrc. */
const OWN_ENV = { SHLVL: '1' };
const TIMEOUT_MS = 120_000;
const MAX_BYTES = 16 * 1024 * 1024;
const GRACE_MS = 500;
/** How long background children may still write after the program has ended. */
const AFTERWORD_MS = 200;
/** How long the pipes are read after the tree has ended: a process that escaped may hold them open. */
const DRAIN_MS = 5_000;

export function createRunCommand({ capabilities, env, jobId }: RunCommandDeps): RunCommand {
  return async (spec) => {
    spec.signal.throwIfAborted();
    const { file, args, cwd, isOffline = false, maxBytes = MAX_BYTES } = spec;
    const tag = `${jobId ?? 'tool'}/${randomUUID()}`;
    const given = allowedEnv(env, [], { ...OWN_ENV, ...spec.env });
    const child = await launchBound({ file, args, cwd, isOffline, env: given, tag }, capabilities);
    const stdout = collect(child.stdout, maxBytes);
    const stderr = collect(child.stderr, maxBytes);
    child.stdin.end(spec.input ?? '');
    const drained = Promise.all([stdout.done, stderr.done]);
    const ended = await ending(child.exited, spec);
    if (ended === 'exited') await settledWithin(systemClock, AFTERWORD_MS, drained);
    await child.close({ graceMs: GRACE_MS });
    await settledWithin(systemClock, DRAIN_MS, drained);
    if (ended === 'aborted') throw new ReefError('cancelled', `${file} was cancelled`, { cause: spec.signal.reason });
    const exit = await child.exited;
    return {
      ...exit,
      stdout: stdout.text(),
      stderr: stderr.text(),
      timedOut: ended === 'timeout',
      isCut: stdout.isCut() || stderr.isCut(),
    };
  };
}

async function ending(exited: Promise<unknown>, { signal, timeoutMs = TIMEOUT_MS }: CommandSpec) {
  try {
    const ended = exited.then(() => 'exited' as const);
    return (await settledWithin(systemClock, timeoutMs, unlessAborted(ended, signal))) ?? 'timeout';
  } catch (error) {
    if (signal.aborted) return 'aborted';
    throw error;
  }
}

function collect(stream: Readable, maxBytes: number) {
  const chunks: Buffer[] = [];
  let size = 0;
  let dropped = 0;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, maxBytes - size);
    size += part.length;
    dropped += chunk.length - part.length;
    if (part.length > 0) chunks.push(part);
  });
  return {
    isCut: () => dropped > 0,
    done: new Promise<void>((resolve) => stream.once('close', resolve)),
    text: () =>
      Buffer.concat(chunks).toString('utf8') + (dropped === 0 ? '' : `\n[${dropped} bytes more were dropped]`),
  };
}
