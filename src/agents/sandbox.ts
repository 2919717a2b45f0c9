import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Checkout, readCheckout } from '../git/checkout.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import type { Job } from '../protocol/jobs.ts';
import type { AgentDescription } from './adapter.ts';
import { namedPath } from './named-path.ts';

/** What no agent in a sandbox may see: keys, histories, and sockets of other programs. */
const PRIVATE = ['.ssh', '.gnupg', '.aws', '.netrc', '.bash_history', '.zsh_history'];
const PRIVATE_CONFIG = ['gh', 'reef'];
const DOORS = ['/var/run/docker.sock', '/run/docker.sock', '/tmp/.X11-unix'];

/** What programs of the user's act on when they next come by: whoever writes it has code run outside the sandbox. */
const GUARDED = ['.reef', '.mcp.json', '.claude', '.codex', '.vscode', '.envrc', '.gitmodules'];

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Reef and the packages it needs: those of a checkout lie in it, those of an installed Reef beside it. */
const REEF = basename(dirname(ROOT)) === 'node_modules' ? dirname(ROOT) : ROOT;

interface Surroundings {
  stateDirs: readonly string[];
  settings?: AgentDescription['settings'];
  homeDir: string;
  sockets: string;
  /** The daemon's environment, and the agent's: its home may be another. */
  env: Readonly<NodeJS.ProcessEnv>;
  agentEnv: Readonly<Record<string, string>>;
  /** What git may write beside the folder of the job. */
  git?: GitMounts | undefined;
  /** What the job runs: the temporary folder is private to it, and hides programs that lie there. */
  program: string;
}

export function jobDir(homeDir: string, jobId: string): string {
  return join(homeDir, 'jobs', jobId);
}

/** The folder of the socket by which a job reaches Reef: all that its sandbox shows of the homes and their sockets. */
export function jobSocketDir(sockets: string, jobId: string): string {
  return join(sockets, jobId);
}

export function jobSocketPath(sockets: string, jobId: string): string {
  return join(jobSocketDir(sockets, jobId), 'sock');
}

/** A job in a sandbox writes its folder, a private temporary one and what its agent keeps; the rest is read-only. */
export function sandboxFor(
  job: Pick<Job, 'id' | 'cwd' | 'sandbox' | 'readonly'>,
  of: Surroundings,
): SandboxSpec | undefined {
  if (job.sandbox === 'none') return undefined;
  const socketDir = jobSocketDir(of.sockets, job.id);
  const { writable = [], readOnly = [], hidden = [], guarded = [] } = of.git ?? {};
  return {
    kind: 'bubblewrap',
    writable: [
      ...(job.readonly ? [] : [job.cwd]),
      ...writable,
      ...of.stateDirs.flatMap((name) => namedPath(name, of.agentEnv) ?? []).filter(isThere),
    ],
    // A folder, for a new daemon makes a new socket.
    readOnly: [...(existsSync(socketDir) ? [socketDir] : []), ...programsIn('/tmp/', of.program), ...readOnly],
    hidden: [of.homeDir, of.sockets, ...privatePaths(of.env), ...hidden],
    guarded: [...guardedIn(job.cwd), ...guarded, ...makeSettings(of)],
    network: 'host',
    scratch: join(of.homeDir, 'jobs', job.id, 'sandbox'),
  };
}

/** Of a repository of its own also `.git`: hooks and configuration are code, and only `gitMounts` opens what is not. */
export function guardedIn(cwd: string): string[] {
  const names = existsSync(join(cwd, '.git')) ? ['.git', ...GUARDED] : GUARDED;
  return names.map((name) => join(cwd, name));
}

/** The agent's program, Node, and Reef itself for its MCP server: those of them below that folder. */
export function programsIn(folder: string, program: string): string[] {
  return [dirname(program), dirname(process.execPath), REEF].filter((path) => path.startsWith(folder));
}

/** The user's keys and histories, and sockets of other programs: a socket works even where nothing can be written. */
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
    // All of Reef's homes and sockets, and the sockets of homes that lie too deep for one.
    join(state || join(home, '.local', 'state'), 'reef'),
    join(cache || join(home, '.cache'), 'reef', 'run'),
    ...(runtimeDir === undefined ? [] : [runtimeDir]),
  ];
}

/** What the agent's settings make it run, it would run outside as well. A file that is absent is made first, and says nothing. */
function makeSettings({ settings = {}, agentEnv }: Surroundings): string[] {
  const made: string[] = [];
  for (const [name, nothing] of Object.entries(settings)) {
    const path = namedPath(name, agentEnv);
    if (path === undefined || !existsSync(dirname(path))) continue;
    if (!existsSync(path)) writeFileSync(path, nothing, { mode: 0o600 });
    made.push(path);
  }
  return made;
}

/** An agent that never ran here has no folder yet, and could not make it in the sandbox. Of a file only it knows the content. */
function isThere(path: string): boolean {
  if (!existsSync(path) && extname(path) === '') mkdirSync(path, { recursive: true, mode: 0o700 });
  return existsSync(path);
}

type GitMounts = Required<Pick<SandboxSpec, 'writable' | 'readOnly' | 'hidden' | 'guarded'>>;

/**
 * What a commit in a worktree of Reef's writes: objects, what git keeps of this worktree, and the folder of its own branch. Other
 * branches, configuration and hooks stay closed, and so does all of git in the user's own checkout.
 */
export async function gitMounts(
  job: Pick<Job, 'cwd' | 'worktree' | 'sandbox' | 'readonly'>,
): Promise<GitMounts | undefined> {
  const { cwd, worktree, sandbox, readonly } = job;
  if (sandbox === 'none' || readonly || worktree === undefined) return undefined;
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

/** By the name Reef gave it: an agent may have pointed HEAD elsewhere. Git removes folders of refs that it packs. */
async function branchFolders({ gitDir, commonDir }: Checkout, worktree: string): Promise<string[]> {
  const head = await readFile(join(gitDir, 'HEAD'), 'utf8');
  const [, folder, id] = /^ref: (refs\/heads\/reef\/[a-z0-9-]+-([a-z0-9]{8}))\/tip\s*$/.exec(head) ?? [];
  if (folder === undefined || id !== worktree.slice(-8).toLowerCase()) return [];
  const folders = [join(commonDir, folder), join(commonDir, 'logs', folder)];
  for (const path of folders) mkdirSync(path, { recursive: true });
  return folders;
}
