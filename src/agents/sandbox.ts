import { join } from 'node:path';
import type { SandboxSpec } from '../process/sandbox.ts';
import type { Job } from '../protocol/jobs.ts';

/** What no agent in a sandbox may see: keys, histories, and doors to other programs. */
const PRIVATE = ['.ssh', '.gnupg', '.aws', '.netrc', '.config/gh', '.config/reef', '.bash_history', '.zsh_history'];
const DOORS = ['/var/run/docker.sock', '/run/docker.sock', '/tmp/.X11-unix'];

/** A job in a sandbox writes its folder, a private temporary one and what its agent keeps; the rest is read-only. */
export function sandboxFor(
  job: Job,
  of: { stateDirs: string[]; homeDir: string; env: NodeJS.ProcessEnv },
): SandboxSpec | undefined {
  if (job.sandbox === 'none') return undefined;
  const home = of.env.HOME ?? '/';
  const runtimeDir = of.env.XDG_RUNTIME_DIR === undefined ? [] : [of.env.XDG_RUNTIME_DIR];
  return {
    kind: 'bubblewrap',
    writable: [job.cwd, ...of.stateDirs.map((dir) => (dir.startsWith('~/') ? join(home, dir.slice(2)) : dir))],
    hidden: [of.homeDir, ...PRIVATE.map((name) => join(home, name)), ...DOORS, ...runtimeDir],
    network: 'host',
    scratch: join(of.homeDir, 'jobs', job.id, 'sandbox'),
  };
}
