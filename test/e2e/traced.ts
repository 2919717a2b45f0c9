import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { World } from './harness.ts';
import { REEF } from './runtime-rig.ts';

export const hasStrace = spawnSync('strace', ['-V']).status === 0;

const quoted = (word: string) => `'${word}'`;

interface Traced {
  /** How each command ended. */
  codes: number[];
  /** The calls of all processes of all commands, a line each. */
  trace: string;
}

/** What the commands call of the kernel, with the daemon the first of them starts and every child. The last ends the daemon. */
export function traced(world: World, calls: string, commands: readonly (readonly string[])[]): Traced {
  const [file, codes] = [join(world.root, 'trace'), join(world.root, 'codes')];
  rmSync(codes, { force: true });
  const line = (args: readonly string[]) =>
    `${[process.execPath, REEF, ...args].map(quoted).join(' ')}; echo $? >>${quoted(codes)}`;
  const script = [...commands, ['daemon', 'stop']].map(line).join('\n');
  const options = { cwd: world.repository, env: world.env, stdio: 'ignore' } as const;
  // Stopped at these calls alone: at every call of all would make a daemon too slow to come up in time.
  const how = ['-f', '--seccomp-bpf', '-qq', '-s', '256', '-e', `trace=${calls}`, '-o', file];
  spawnSync('strace', [...how, '/bin/sh', '-c', script], options);
  const ended = readFileSync(codes, 'utf8').trim().split('\n').map(Number);
  return { codes: ended.slice(0, commands.length), trace: readFileSync(file, 'utf8') };
}
