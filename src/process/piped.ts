import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { startChild } from './start-child.ts';

export interface Piped {
  stdin: Writable;
  stdout: Readable;
  /** What the program, or one that it starts, says on descriptor 3, and hears on 4. */
  says: Readable;
  hears: Writable;
  /** The exit code, and the end of what it wrote to stderr. */
  ended: Promise<{ code: number | null; stderr: string }>;
  kill(): void;
}

const MOST_STDERR = 8_192;

/** Starts a program whose input and output are streams, with a second pair for what is said beside them. */
export async function startPiped(spec: {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}): Promise<Piped> {
  const child = await startChild(spec, () =>
    spawn(spec.file, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    }),
  );
  const [stdin, stdout, errors, says, hears] = child.stdio as [Writable, Readable, Readable, Readable, Writable];
  for (const stream of [stdin, hears]) stream.on('error', () => undefined); // EPIPE: it did not want more
  let stderr = '';
  errors.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-MOST_STDERR);
  });
  return {
    stdin,
    stdout,
    says,
    hears,
    ended: once(child, 'close').then(([code]) => ({ code: code as number | null, stderr })),
    kill: () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, 'SIGKILL');
    },
  };
}
