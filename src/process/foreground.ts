import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startChild } from './start-child.ts';

export interface ForegroundSpec {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<NodeJS.ProcessEnv>;
}

/** Runs a program of the user's own at the user's terminal: it has our streams and our group until it ends. */
export async function runForeground(spec: ForegroundSpec): Promise<number> {
  const { file, args, cwd, env } = spec;
  const child = await startChild(spec, () => spawn(file, args, { cwd, env, stdio: 'inherit' }));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal === null ? (code ?? 1) : 128;
}
