import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../protocol/errors.ts';
import type { Capabilities } from './capabilities.ts';
import { contained, type Program, underCeiling } from './chain.ts';
import { SYSTEM_PATH } from './environment.ts';
import { makeFifo } from './fifo.ts';
import { bootId, type ProcessIdentity } from './identity.ts';
import { readLaunch } from './launch-folder.ts';
import { TAG_VARIABLE } from './process-table.ts';
import { startChild, toLaunchError } from './start-child.ts';
import { WRAPPER_MARK } from './tree.ts';

export interface LaunchSpec extends Program {
  /** Absolute; gets `in`, `out`, `err`, `pid`, `begun` and at the end `exit`. One launch only. */
  dir: string;
  env: Readonly<Record<string, string>>;
  ceilingMs: number;
  /** The job's id. Everything with this tag is killed when the job ends: nothing else may carry it. */
  tag: string;
  /** `fifo` (the default) makes `in`, which never ends; a file ends where it ends. */
  stdin?: 'fifo' | { file: string };
}

const WRAPPER = fileURLToPath(new URL('./wrapper.sh', import.meta.url));

/** Starts a program that outlives us, with a FIFO as input and files as output. Resolves when its wrapper's identity is on disk. */
export async function launch(spec: LaunchSpec, capabilities: Capabilities): Promise<ProcessIdentity> {
  try {
    const command = underCeiling(spec.ceilingMs, contained(spec, capabilities), capabilities);
    const { input, errors } = await makeFolder(spec);
    await startWrapper(spec, [input, SYSTEM_PATH, ...command], errors).finally(() => closeSync(errors));
  } catch (error) {
    throw toLaunchError(spec, error);
  }
  const { identity } = readLaunch(spec.dir);
  if (identity) return identity;
  const said = readFileSync(join(spec.dir, 'err'), 'utf8').trim();
  throw new ReefError('spawn_failed', `The wrapper of ${spec.file} did not start: ${said}`);
}

/** Resolves when the wrapper has written its identity, or has ended without. */
async function startWrapper(spec: LaunchSpec, rest: readonly string[], errors: number): Promise<void> {
  const args = [WRAPPER, WRAPPER_MARK, spec.tag, spec.dir, bootId(), ...rest];
  const { [TAG_VARIABLE]: _, ...given } = spec.env; // the wrapper itself carries no tag, or a sweep would end it
  const env = { PATH: SYSTEM_PATH, ...given };
  const child = await startChild(spec, () =>
    spawn('/bin/sh', args, { cwd: spec.cwd, env, stdio: ['ignore', 'pipe', errors], detached: true }),
  );
  child.unref();
  if (child.stdout) await once(child.stdout.resume(), 'close');
}

async function makeFolder({ dir, stdin = 'fifo' }: LaunchSpec): Promise<{ input: string; errors: number }> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  closeSync(openSync(join(dir, 'begun'), 'ax', 0o600));
  closeSync(openSync(join(dir, 'out'), 'a', 0o600)); // a sandbox may show it already
  if (stdin === 'fifo') await makeFifo(join(dir, 'in'));
  const input = stdin === 'fifo' ? join(dir, 'in') : stdin.file;
  return { input, errors: openSync(join(dir, 'err'), 'ax', 0o600) };
}
