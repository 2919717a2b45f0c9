import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { startChild } from './start-child.ts';

interface Supervised {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<NodeJS.ProcessEnv>;
  clock: Clock;
  /** It is not started again after these. */
  finalCodes: readonly number[];
  /** Passed on to the child, which then ends for good. */
  stop: AbortSignal;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** One that lived for so long is started again at once. */
const STEADY_MS = 60_000;

/** Starts a program of ours again and again until it ends for good. It notices by its input that we are gone. */
export async function supervise(spec: Supervised): Promise<number> {
  const { file, args, cwd, env, clock, stop } = spec;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const started = clock.monotonicMs();
    const child = await startChild(spec, () => spawn(file, args, { cwd, env, stdio: ['pipe', 'inherit', 'inherit'] }));
    child.stdin?.on('error', () => undefined);
    const end = () => child.kill('SIGTERM');
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    const [code] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    stop.removeEventListener('abort', end);
    if (stop.aborted) return code ?? 1;
    if (code !== null && spec.finalCodes.includes(code)) return code;
    if (clock.monotonicMs() - started > STEADY_MS) pause = FIRST_PAUSE_MS;
    await clock.sleep(pause, stop).catch(() => undefined);
    if (stop.aborted) return code ?? 1;
  }
}
