import { existsSync, mkdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readCheckout } from '../git/checkout.ts';
import type { EgressRules } from '../process/egress/rules.ts';
import { unguard } from '../process/guarded.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Store } from '../store/store.ts';
import type { AgentDescription } from './adapter.ts';
import { type Links, linksAmong, putBack } from './guarded-links.ts';
import type { JobRuntime } from './job-runtime.ts';
import { type OwnPaths, ownHome } from './sandbox-home.ts';

/** Files that the user's programs act on: whoever writes them runs code outside the sandbox. */
export const GUARDED = ['.reef', '.mcp.json', '.claude', '.codex', '.vscode', '.envrc', '.gitmodules'];

/** Far above what a build or a test run starts, far below what stops a machine. */
const MOST_PROCESSES = 4096;

interface Surroundings {
  /** The agent's private copies of its own files. */
  binds?: SandboxSpec['binds'];
  reads?: AgentDescription['reads'];
  homeDir: string;
  sockets: string;
  /** Of the program: its home may be another than the daemon's. */
  env: Readonly<NodeJS.ProcessEnv>;
  /** What the user's configuration shows to all. */
  own?: OwnPaths | undefined;
  /** Absent where the machine cannot make a network: then it is the machine's. */
  network?: EgressRules | undefined;
  /** The job's own copy of git's data. */
  git?: { binds: NonNullable<SandboxSpec['binds']> } | undefined;
  /** What the job runs. Its temporary folder is private and would hide a program that lies there. */
  program: string;
}

export function jobDir(homeDir: string, jobId: string): string {
  return join(homeDir, 'jobs', jobId);
}

/** The folder of the job's socket: all that its sandbox shows of Reef's homes and sockets. */
export function jobSocketDir(sockets: string, jobId: string): string {
  return join(sockets, jobId);
}

export function jobSocketPath(sockets: string, jobId: string): string {
  return join(jobSocketDir(sockets, jobId), 'sock');
}

/** Where the daemon serves a job's tools; `reef mcp` in the job finds it beside the socket. */
export function jobToolsPath(sockets: string, jobId: string): string {
  return join(jobSocketDir(sockets, jobId), 'mcp');
}

/** Where the proxy of a job listens: beside its own socket, in the folder that its sandbox shows. */
export function egressSocket(sockets: string, jobId: string): string {
  return join(jobSocketDir(sockets, jobId), 'net');
}

/** A job in a sandbox may write its folder, a home and a temporary folder of its own. Of the user's folders it sees what is named. */
export async function sandboxFor(
  job: Pick<Job, 'id' | 'cwd' | 'sandbox' | 'readonly'>,
  of: Surroundings,
): Promise<SandboxSpec | undefined> {
  if (job.sandbox !== 'bubblewrap') return undefined;
  const socketDir = of.network === undefined ? jobSocketDir(of.sockets, job.id) : dirname(of.network.socket);
  if (of.network !== undefined) mkdirSync(socketDir, { recursive: true, mode: 0o700 });
  const around = ownHome(of.env, of.program, of.own);
  return {
    kind: 'bubblewrap',
    home: around.home,
    writable: [...(job.readonly ? [] : [job.cwd]), ...around.writable],
    binds: [...(of.binds ?? []), ...(of.git?.binds ?? [])],
    readOnly: [
      ...(await repositoryFolders(job.cwd)),
      ...(job.readonly ? [job.cwd] : []),
      // The folder and not the socket: a new daemon makes a new one.
      ...(existsSync(socketDir) ? [socketDir] : []),
      ...(of.reads ?? []),
      ...around.readOnly,
    ],
    hidden: [of.homeDir, of.sockets, ...around.hidden],
    guarded: guardedIn(job.cwd),
    network: of.network ?? 'host',
    limits: { processes: of.own?.processes ?? MOST_PROCESSES, memoryMb: of.own?.memory_mb },
    scratch: join(jobDir(of.homeDir, job.id), SCRATCH),
  };
}

/** In the folder of a job: its private /tmp and home, gone with its process. */
export const SCRATCH = 'sandbox';

/** Git's data of a checkout, wherever it lies, and the checkout around a folder that is only a part of it. */
async function repositoryFolders(cwd: string): Promise<string[]> {
  const top = checkoutAround(cwd);
  const checkout = top === undefined ? undefined : await readCheckout(top).catch(() => undefined);
  if (!checkout) return [];
  const { commonDir } = checkout;
  const lent = await readFile(join(commonDir, 'objects', 'info', 'alternates'), 'utf8').catch(() => '');
  const alternates = lent.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const folders = [commonDir, ...alternates.map((path) => resolve(commonDir, 'objects', path))];
  return [...(top === cwd ? [] : [checkout.toplevel]), ...folders].filter(existsSync);
}

function checkoutAround(folder: string): string | undefined {
  if (existsSync(join(folder, '.git', 'HEAD')) || isFile(join(folder, '.git'))) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : checkoutAround(parent);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Also `.git`, present or not: hooks and configuration are code. An agent commits into a copy. */
function guardedIn(cwd: string): string[] {
  return ['.git', ...GUARDED].map((name) => join(cwd, name));
}

/** Folders in which something runs in a sandbox. The last one to leave a folder removes its guards. */
export class GuardedFolders {
  readonly #store: Store;
  /** The folder of each gate. Gates end with the daemon, so they are not stored. */
  readonly #gates = new Map<symbol, { cwd: string; links: Links }>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** A gate begins in the folder; call the result when it is over. */
  enter(cwd: string): () => void {
    const gate = Symbol(cwd);
    const links = this.linksOf(cwd);
    this.#gates.set(gate, { cwd, links });
    return () => {
      this.#gates.delete(gate);
      this.leave(cwd, links);
    };
  }

  /** The links among what is guarded in a folder, as they were before anything ran there. Store them with the launch. */
  linksOf(cwd: string): Links {
    return this.#within(cwd)[0] ?? linksAmong(cwd, ['.git', ...GUARDED]);
  }

  leave(cwd: string, links: Links = {}): void {
    if (this.#within(cwd).length > 0 || !existsSync(cwd)) return;
    putBack(cwd, links);
    unguard(guardedIn(cwd));
  }

  /** Of each gate and each job that is in a sandbox there: a paused job may still have a process, a queued one be about to. */
  #within(cwd: string): Links[] {
    const gates = [...this.#gates.values()].filter((gate) => gate.cwd === cwd);
    const jobs = this.#store.jobs
      .live<JobRuntime>()
      .filter(({ job, runtime }) => job.sandbox === 'bubblewrap' && job.cwd === cwd && isInProcess(runtime));
    return [...gates.map(({ links }) => links), ...jobs.map(({ runtime }) => runtime.links ?? {})];
  }
}

function isInProcess({ hasProcess, isLaunching }: JobRuntime): boolean {
  return hasProcess || isLaunching;
}
