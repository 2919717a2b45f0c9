import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BoundSpec } from '../../src/process/bound.ts';
import type { Capabilities } from '../../src/process/capabilities.ts';
import { type LaunchSpec, launch } from '../../src/process/launch.ts';
import { readLaunch } from '../../src/process/launch-folder.ts';
import { processRows } from '../../src/process/process-table.ts';
import type { JobTree } from '../../src/process/tree.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './wait.ts';

export const TREE_SIZE = 4;

export const PATH = process.env.PATH ?? '';

export const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/programs/${name}`, import.meta.url));

/** Marks the processes of one test in their arguments, also where their environment is cleared. */
export const newNonce = () => String(randomInt(1, 2 ** 47)).padStart(15, '0');

/** The members of a tree by the nonce in their arguments. For counting, and for the clean-up of a deliberately broken twin. */
export function survivorsOf(nonce: string): number[] {
  return pidsWith((args) => args[0] === 'sleep' && args[1] === `600.${nonce}`);
}

export function pidsNaming(argument: string): number[] {
  return pidsWith((args) => args.includes(argument));
}

function pidsWith(matches: (args: string[]) => boolean): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => matches(textOf(`/proc/${pid}/cmdline`).split('\0'))).map(Number);
}

export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

export interface TestJob extends JobTree {
  dir: string;
  nonce: string;
  said(): string;
}

/** Launches a fixture in a folder of its own and waits until it says `ready`. */
export async function startJob(
  name: string,
  capabilities: Capabilities,
  more: Partial<LaunchSpec> = {},
): Promise<TestJob> {
  const spec = jobSpec(name, temporaryFolder(), more);
  const identity = await launch(spec, capabilities);
  const said = () => textOf(join(spec.dir, 'out'));
  await until(`${name} is ready`, () => said().includes('ready\n'));
  return { identity, tag: spec.tag, dir: spec.dir, nonce: spec.nonce, said };
}

/** The tree with all of its members. */
export async function startTree(capabilities: Capabilities, more: Partial<LaunchSpec> = {}): Promise<TestJob> {
  const job = await startJob('tree.sh', capabilities, more);
  await until('the tree stands', () => survivorsOf(job.nonce).length === TREE_SIZE);
  return job;
}

/** The ceiling of a job comes now, by the signal of its own timer: a short one could come before the job stands. */
export function ring({ identity }: JobTree): void {
  const ceiling = processRows().find(({ parent }) => parent === identity.pid);
  process.kill(ceiling?.pid ?? Number.NaN, 'SIGALRM');
}

export function jobSpec(name: string, folder: string, more: Partial<LaunchSpec> = {}): LaunchSpec & { nonce: string } {
  const nonce = newNonce();
  const dir = join(folder, 'job');
  const spec = { dir, file: fixture(name), args: [nonce], cwd: folder, env: { PATH }, ceilingMs: 60_000 };
  return { ...spec, tag: `job-${nonce}`, nonce, ...more };
}

/** Launches and waits for the end. */
export async function runJob(spec: LaunchSpec, capabilities: Capabilities) {
  const identity = await launch(spec, capabilities);
  const { code, at } = await until('it ended', () => readLaunch(spec.dir).exit);
  return { identity, code, at, out: textOf(join(spec.dir, 'out')), err: textOf(join(spec.dir, 'err')) };
}

/** The launcher program, a process of its own, so that it can be killed. */
export function startLauncher(
  kind: 'durable' | 'bound' | 'bound-again',
  spec: LaunchSpec | BoundSpec,
  capabilities: Capabilities,
): ChildProcess {
  const launchJson = JSON.stringify({ spec, capabilities });
  const args = [fixture('launcher.ts'), kind, launchJson];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
}

/** Goes on reading, or the next write of the child would kill it. */
export async function lineOf(child: ChildProcess, index: number): Promise<string> {
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  return await until(`line ${index}`, () => said.split('\n').slice(0, -1)[index]);
}
