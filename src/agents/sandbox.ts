import { existsSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Checkout, readCheckout } from '../git/checkout.ts';
import { type SandboxSpec, unguard } from '../process/sandbox.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Store } from '../store/store.ts';
import type { AgentDescription } from './adapter.ts';
import type { JobRuntime } from './job-runtime.ts';

/** What no agent in a sandbox may see: keys, histories and sockets of other programs. */
const PRIVATE = ['.ssh', '.gnupg', '.aws', '.netrc', '.bash_history', '.zsh_history'];
const PRIVATE_CONFIG = ['gh', 'reef'];
const DOORS = ['/var/run/docker.sock', '/run/docker.sock', '/tmp/.X11-unix'];

/** Files that the user's programs act on: whoever writes them runs code outside the sandbox. */
const GUARDED = ['.reef', '.mcp.json', '.claude', '.codex', '.vscode', '.envrc', '.gitmodules'];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Reef with the packages it needs. In a checkout they lie inside, in an installation beside it. */
const REEF = basename(dirname(ROOT)) === 'node_modules' ? dirname(ROOT) : ROOT;

interface Surroundings {
  /** The agent's private copies of its own files. */
  binds?: SandboxSpec['binds'];
  reads?: AgentDescription['reads'];
  homeDir: string;
  sockets: string;
  /** The daemon's environment. */
  env: Readonly<NodeJS.ProcessEnv>;
  /** What git may write beside the folder of the job. */
  git?: GitMounts | undefined;
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

/** A job in a sandbox may write its folder, a private temporary folder and copies of its agent's state. The rest is read-only. */
export function sandboxFor(
  job: Pick<Job, 'id' | 'cwd' | 'sandbox' | 'readonly'>,
  of: Surroundings,
): SandboxSpec | undefined {
  if (job.sandbox !== 'bubblewrap') return undefined;
  const socketDir = jobSocketDir(of.sockets, job.id);
  const { writable = [], readOnly = [], hidden = [], guarded = [] } = of.git ?? {};
  return {
    kind: 'bubblewrap',
    writable: [...(job.readonly ? [] : [job.cwd]), ...writable],
    binds: of.binds ?? [],
    // The folder and not the socket: a new daemon makes a new one.
    readOnly: [
      ...(existsSync(socketDir) ? [socketDir] : []),
      ...programsIn('/tmp/', of.program),
      ...(of.reads ?? []),
      ...readOnly,
    ],
    hidden: [of.homeDir, of.sockets, ...privatePaths(of.env), ...hidden],
    guarded: [...guardedIn(job.cwd), ...guarded],
    network: 'host',
    scratch: join(of.homeDir, 'jobs', job.id, 'sandbox'),
  };
}

/** In a repository also `.git`: hooks and configuration are code. `gitMounts` opens the parts that are not. */
function guardedIn(cwd: string): string[] {
  const names = existsSync(join(cwd, '.git')) ? ['.git', ...GUARDED] : GUARDED;
  return names.map((name) => join(cwd, name));
}

/** Those below the folder: the agent's program, Node, and Reef itself for its MCP server. */
export function programsIn(folder: string, program: string): string[] {
  return [dirname(program), dirname(process.execPath), REEF].filter((path) => path.startsWith(folder));
}

/** The user's keys and histories, and sockets of other programs, which would work even without write access. */
export function privatePaths({
  HOME: home = '/',
  XDG_CONFIG_HOME: config,
  XDG_STATE_HOME: state,
  XDG_CACHE_HOME: cache,
  XDG_RUNTIME_DIR: runtimeDir,
}: Surroundings['env']) {
  const configDir = config || join(home, '.config');
  return [
    ...PRIVATE.map((name) => join(home, name)),
    ...PRIVATE_CONFIG.map((name) => join(configDir, name)),
    ...DOORS,
    // All of Reef's homes and sockets, and the sockets of homes whose own path is too long for one.
    join(state || join(home, '.local', 'state'), 'reef'),
    join(cache || join(home, '.cache'), 'reef', 'run'),
    ...(runtimeDir === undefined ? [] : [runtimeDir]),
  ];
}

type GitMounts = Required<Pick<SandboxSpec, 'writable' | 'readOnly' | 'hidden' | 'guarded'>>;

/**
 * What a commit in a worktree of Reef writes: objects, git's data of this worktree, and the folder of its own branch. Other
 * branches, configuration and hooks stay closed, and so does all of git in the user's own checkout.
 */
export async function gitMounts(
  job: Pick<Job, 'cwd' | 'worktree' | 'sandbox' | 'readonly'>,
): Promise<GitMounts | undefined> {
  const { cwd, worktree, sandbox, readonly } = job;
  if (sandbox !== 'bubblewrap' || readonly || worktree === undefined) return undefined;
  const checkout = await readCheckout(cwd).catch(() => undefined);
  if (!checkout || checkout.gitDir === checkout.commonDir) return undefined;
  const own = (name: string) => join(checkout.gitDir, name);
  const config = own('config.worktree');
  const isThere = existsSync(config);
  return {
    writable: [join(checkout.commonDir, 'objects'), checkout.gitDir, ...(await branchFolders(checkout, worktree))],
    readOnly: [own('gitdir'), own('commondir'), ...(isThere ? [config] : [])],
    hidden: isThere ? [] : [config], // git reads it as a file, so an empty one stands for it
    guarded: [own('modules')],
  };
}

/** Only a branch with the name Reef gave it: an agent may have moved HEAD. Git removes folders of packed refs, so they are made. */
async function branchFolders({ gitDir, commonDir }: Checkout, worktree: string): Promise<string[]> {
  const head = await readFile(join(gitDir, 'HEAD'), 'utf8');
  const [, folder, id] = /^ref: (refs\/heads\/reef\/[a-z0-9-]+-([a-z0-9]{8}))\/tip\s*$/.exec(head) ?? [];
  if (folder === undefined || id !== worktree.slice(-8).toLowerCase()) return [];
  const folders = [join(commonDir, folder), join(commonDir, 'logs', folder)];
  for (const path of folders) mkdirSync(path, { recursive: true });
  return folders;
}

/** Folders in which something runs in a sandbox. The last one to leave a folder removes its guards. */
export class GuardedFolders {
  readonly #store: Store;
  /** The folder of each gate. Gates end with the daemon, so they are not stored. */
  readonly #gates = new Map<symbol, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** A gate begins in the folder; call the result when it is over. */
  enter(cwd: string): () => void {
    const gate = Symbol(cwd);
    this.#gates.set(gate, cwd);
    return () => {
      this.#gates.delete(gate);
      this.leave(cwd);
    };
  }

  leave(cwd: string): void {
    if ([...this.#gates.values()].includes(cwd)) return;
    const live = this.#store.jobs.live<JobRuntime>();
    // A paused job may still have a process, and a queued one may be about to.
    const isKept = live.some(
      ({ job, runtime }) =>
        job.sandbox === 'bubblewrap' && job.cwd === cwd && (runtime.hasProcess || runtime.isLaunching),
    );
    if (!isKept) unguard(guardedIn(cwd));
  }
}
