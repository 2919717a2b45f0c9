import { randomUUID } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { isProgram, type RunResult } from '../../base/programs.ts';
import { type BoundProcess, launchBound } from '../../process/bound.ts';
import type { Capabilities } from '../../process/capabilities.ts';
import type { SandboxSpec } from '../../process/sandbox.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { RunGate } from './gates.ts';

/** One descriptor for both streams keeps the order in which they were written. */
const TOGETHER = ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh'];

interface BoundGatesOptions {
  capabilities: Capabilities;
  /** Gates execute what an agent wrote. */
  sandboxOf?(worktreePath: string, env: Readonly<Record<string, string>>): Promise<SandboxSpec | undefined>;
  /** Called before a gate runs in a sandbox; the result is called after it. */
  enter?(worktreePath: string): () => void;
}

/**
 * Runs gates in a process tree that dies with this process, is killed at the timeout, and cannot outlive its command. The
 * wrapper before the command always starts, so the command is looked up first.
 */
export function boundGates({ capabilities, sandboxOf, enter }: BoundGatesOptions): RunGate {
  return async (spec) => {
    const command = [findProgram(spec), ...spec.args];
    const [file = '', ...args] = spec.output === 'together' ? [...TOGETHER, ...command] : command;
    const sandbox = await sandboxOf?.(spec.cwd, spec.env);
    const tag = `gate-${randomUUID()}`;
    const leave = sandbox && enter?.(spec.cwd);
    try {
      const child = await launchBound({ file, args, cwd: spec.cwd, env: spec.env, tag, sandbox }, capabilities);
      child.stdin.end(spec.input ?? '');
      return await finish(child, spec);
    } finally {
      // The socket of its proxy, in a folder of its own.
      if (typeof sandbox?.network === 'object')
        rmSync(dirname(sandbox.network.socket), { recursive: true, force: true });
      leave?.();
    }
  };
}

async function finish(child: BoundProcess, spec: { timeoutMs: number; abort: AbortSignal }): Promise<RunResult> {
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  let timedOut = false;
  const kill = () => void child.close({ graceMs: 0 });
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, spec.timeoutMs);
  spec.abort.addEventListener('abort', kill, { once: true });
  if (spec.abort.aborted) kill();
  const ending = await child.exited;
  clearTimeout(timer);
  spec.abort.removeEventListener('abort', kill);
  // Ends what the command left running, since it may hold the pipes.
  await child.close({ graceMs: 0 });
  await Promise.all([out.over, err.over]);
  const truncated = out.log.cut > 0 || err.log.cut > 0;
  return { ...ending, stdout: out.log.bytes(), stderr: err.log.bytes(), timedOut, truncated };
}

function findProgram({ file, cwd, env }: { file: string; cwd: string; env: Readonly<Record<string, string>> }): string {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ReefError('cwd_missing', `There is no folder ${cwd}.`);
  }
  const folders = file.includes('/') ? [''] : (env.PATH ?? '').split(':');
  const found = folders.map((folder) => resolve(cwd, folder, file)).find(isProgram);
  if (found === undefined) throw new ReefError('spawn_failed', `There is no command ${JSON.stringify(file)}.`);
  return found;
}

const HALF = 32 * 1024 * 1024;

/** Keeps a stream up to 64 MiB; of a longer one the first and last 32 MiB, with a note between. */
export class OutputLog {
  readonly #half: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  #headRoom: number;
  #tailBytes = 0;
  #cut = 0;

  constructor(half = HALF) {
    this.#half = half;
    this.#headRoom = half;
  }

  get cut(): number {
    return this.#cut;
  }

  push(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#headRoom);
    if (first.length > 0) this.#head.push(first);
    this.#headRoom -= first.length;
    const rest = chunk.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    while (this.#tailBytes > this.#half) this.#drop(this.#tailBytes - this.#half);
  }

  bytes(): Buffer {
    const mark = this.#cut === 0 ? [] : [Buffer.from(`\n…[cut ${this.#cut} bytes]…\n`)];
    return Buffer.concat([...this.#head, ...mark, ...this.#tail]);
  }

  #drop(excess: number): void {
    const [oldest] = this.#tail;
    if (!oldest) return;
    const cut = Math.min(excess, oldest.length);
    if (cut === oldest.length) this.#tail.shift();
    else this.#tail[0] = oldest.subarray(cut);
    this.#tailBytes -= cut;
    this.#cut += cut;
  }
}

/** Resolves when the stream is over, however it ended. */
function collect(stream: Readable): { log: OutputLog; over: Promise<void> } {
  const log = new OutputLog();
  stream.on('data', (chunk: Buffer) => log.push(chunk));
  const over = new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.once('error', () => resolve());
  });
  return { log, over };
}
