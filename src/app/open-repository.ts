import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { networkFor } from '../agents/network.ts';
import type { AdapterRegistry } from '../agents/registry.ts';
import type { GuardedFolders } from '../agents/sandbox.ts';
import { egressSocket, sandboxFor } from '../agents/sandbox.ts';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/env.ts';
import type { Home } from '../base/home.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import type { Checkout } from '../git/checkout.ts';
import { createGit, type Git } from '../git/git-command.ts';
import { PrivateGits } from '../git/private/private-gits.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { contained } from '../process/chain.ts';
import { allowedEnv, SYSTEM_PATH } from '../process/environment.ts';
import { run } from '../process/run.ts';
import { ReefError } from '../protocol/errors.ts';
import type { WorktreeRecord } from '../protocol/worktrees.ts';
import type { ReefBlock } from '../runtime/config/reef-block.ts';
import { TrustFile, trustPath } from '../runtime/config/trust-file.ts';
import type { Store } from '../store/store.ts';
import { trustedDrivers } from '../workflow/project/git-drivers.ts';
import { Project } from '../workflow/project/project.ts';
import type { RunSpec } from '../workflow/runs/spec.ts';
import { WorktreeActivity } from '../workflow/runs/worktree-activity.ts';
import { worktreeGates } from '../workflow/runs/worktree-gates.ts';
import { boundGates } from '../workflow/workers/bound-gates.ts';
import { namingWithheld } from '../workflow/workers/withheld-variables.ts';
import { GitWorktreeManager } from '../worktrees/manager.ts';
import { asUserIn } from './as-user.ts';
import { openCodeContext, referencesOf } from './code-context.ts';
import { CodeOperations } from './code-operations.ts';
import { gitApart } from './git-apart.ts';
import { StateOperations } from './state-operations.ts';
import { TaskNames } from './task-names.ts';
import { ToldEdits } from './told-edits.ts';
import { NoticeBoard } from './worktree-operations.ts';

export interface RepositoryDeps {
  registry: AdapterRegistry;
  home: Home;
  env: Environment;
  clock: Clock;
  log: Logger;
  store: Store;
  signal: ChangeSignal;
  capabilities: Capabilities;
  guards: GuardedFolders;
  newId(): string;
  redact<T>(value: T): T;
  isPortFree(port: number): Promise<boolean>;
  /** The user's configuration as it is now. */
  settings(): Pick<
    ReefBlock,
    'default_agent' | 'fallback_agents' | 'gates' | 'worktree' | 'worktrees' | 'context' | 'sandbox' | 'pass_env'
  >;
  /** As it was when it last held no mistake. */
  lastSettings(): ReturnType<RepositoryDeps['settings']>;
}

export type Repository = Awaited<ReturnType<typeof openRepository>>;

interface Found {
  root: string;
  git: Git;
  checkout: Checkout;
}

/** The repository of a home, if it has one. `refusal` says why git does not work on it. */
export async function findRepository({
  home,
  env,
}: Pick<RepositoryDeps, 'home' | 'env'>): Promise<{ found?: Found; refusal?: ReefError }> {
  const root = home.repository;
  if (root === undefined) return {};
  const trustFile = trustPath(env);
  const open = trustedDrivers(root, { trust: new TrustFile(trustFile), trustFile });
  const git = createGit({ run, env: allowedEnv(env.all, [], { PATH: SYSTEM_PATH }), open });
  try {
    return { found: { root, git, checkout: await git.locate(root) } };
  } catch (error) {
    if (error instanceof ReefError) return { refusal: error };
    throw error;
  }
}

/** What jobs and runs need of a repository: its worktrees, its code, and their state. */
export async function openRepository(deps: RepositoryDeps, { root, git, checkout }: Found) {
  const { home, env, clock, log, store, signal, newId, isPortFree, redact } = deps;
  const trust = new TrustFile(trustPath(env));
  const project = new Project({ root, trust, clock, drivers: () => git.drivers(checkout) });
  const notices = new NoticeBoard(clock, store.changes);
  const items = {
    include: () => project.include(),
    // What the repository says wins over what the user says for all repositories.
    scripts: async () => ({ ...deps.settings().worktree, ...(await project.scripts()) }),
  };
  const setup = async () => [(await items.scripts()).setup ?? null, (await items.include()) ?? null].flat();
  const gates = { ...gateDeps(deps), setup };
  const context = openCodeContext({
    ...deps,
    commonDir: checkout.commonDir,
    settings: () => deps.lastSettings().context,
  });
  const apart = gitApart(deps, checkout);
  const copies = new PrivateGits({ git, apart, folder: join(realpathSync(home.dir), 'git') });
  const worktrees = await GitWorktreeManager.open({
    git,
    copies,
    store,
    clock,
    log,
    newId,
    isPortFree,
    repository: root,
    dataHome: env.dataHome,
    stateHome: env.stateHome,
    configured: () => deps.lastSettings().worktrees,
    // Scripts of the repository and gates may execute what an agent wrote.
    run: (spec) =>
      gates.runGate({
        ...spec,
        env: allowedEnv(env.all, deps.settings().pass_env, { ...spec.env }),
        output: 'apart',
        abort: spec.abort ?? new AbortController().signal,
      }),
    gatesOf: worktreeGates({ ...gates, ...deps, project, openDir: createSafeDir }),
    asUser: asUserIn(root, env),
    edited: (path) => context.servers.announce(path, []),
    vacate: (path) => context.servers.spinDownServer(path),
    references: referencesOf(context),
    items,
    announce(notice) {
      notices.post(notice);
      signal.notify();
    },
  });
  const names = new TaskNames({ store, worktrees });
  const code = new CodeOperations({ store, repository: root, worktrees, names, ...context });
  const states = new StateOperations({ home, store, git, copies, clock, log, worktrees, redact, code });
  const activity = new WorktreeActivity({ store, repository: root, folderOf: (id) => worktrees.folder(id) });
  context.servers.follow(activity);
  const edits = new ToldEdits({ store, repository: root, servers: context.servers });
  const shellIn = (id: string) => openShell(deps, { worktree: worktrees.record(id), root, gateEnv: gates.gateEnv });
  return {
    root,
    git,
    copies,
    project,
    notices,
    gates,
    context,
    worktrees,
    names,
    code,
    states,
    activity,
    edits,
    shellIn,
  };
}

interface ShellPlace {
  worktree: WorktreeRecord;
  root: string;
  gateEnv(path: string): Record<string, string>;
}

/**
 * A shell for a person, who meets there what a gate meets: its environment, and its sandbox. It is not ours to watch, so what it
 * guards stays guarded until we end.
 */
async function openShell(deps: RepositoryDeps, { worktree, root, gateEnv }: ShellPlace) {
  const { env, capabilities, guards } = deps;
  const { id, path, branch, portBase } = worktree;
  if (path === null)
    throw new ReefError('worktree_state', `The worktree ${id} is ${worktree.status} and has no folder.`);
  const own = { REEF_WORKTREE: path, REEF_ROOT: root, REEF_BRANCH: branch, REEF_PORT_BASE: `${portBase}` };
  const given = { ...gateEnv(path), ...own };
  const sandbox = await worktreeSandbox(deps, path, given);
  if (!sandbox) return { path, isSandboxed: false, command: [env.shell], env: own };
  guards.enter(path);
  const file = env.shell.startsWith(`${env.home}/`) ? '/bin/sh' : env.shell; // its home is empty
  return {
    path,
    isSandboxed: true,
    command: contained({ file, args: [], cwd: path, sandbox }, capabilities),
    env: given,
  };
}

/** How gates run, in a run and before a merge. */
function gateDeps(deps: RepositoryDeps) {
  const { env, capabilities, guards } = deps;
  const runGate = boundGates({
    capabilities,
    sandboxOf: (path, own) => worktreeSandbox(deps, path, own),
    enter: (path) => guards.enter(path),
  });
  return {
    runGate: namingWithheld(runGate, env.all),
    // Last: an agent can put a program of any name there.
    gateEnv: (path: string) =>
      allowedEnv(env.all, deps.settings().pass_env, { PATH: `${env.path}:${join(path, 'node_modules', '.bin')}` }),
  };
}

/**
 * The sandbox belongs to the worktree: gates and scripts execute what an agent wrote there. Scripts are told where the user's
 * own checkout lies, to take from it what a fresh one lacks, so they may read it.
 */
async function worktreeSandbox(deps: RepositoryDeps, path: string, ofProgram: Readonly<Record<string, string>>) {
  const { home, env } = deps;
  const id = basename(path).replace(/^scratch-/, '');
  if (!isWalled(deps, id)) return undefined;
  const { dir: homeDir, sockets } = home;
  const own = deps.settings().sandbox;
  const { REEF_ROOT: root } = ofProgram;
  // A folder for each: gates of one worktree run side by side.
  const socket = egressSocket(sockets, `gate-${randomBytes(4).toString('hex')}`);
  const network = networkFor({ socket, env: ofProgram, hosts: own.hosts });
  const surroundings = {
    own,
    homeDir,
    sockets,
    env: env.all,
    program: '/bin/sh',
    ...(deps.capabilities.sandboxesNetwork && { network }),
    ...(root !== undefined && { reads: [root] }),
  };
  return sandboxFor({ id: `gate-${id}`, cwd: path, sandbox: 'bubblewrap' }, surroundings);
}

/** For good, once a job in a sandbox has worked in it. Before that, as its run was asked to be, or else as configured. */
function isWalled({ store, settings, capabilities }: RepositoryDeps, worktreeId: string): boolean {
  if (store.jobs.anySandboxed(worktreeId)) return true;
  const [run] = store.runs.byWorktree<RunSpec>(worktreeId);
  if (!run && store.jobs.anyIn(worktreeId)) return false; // of a job outside, which could do all that a script can
  const { mode } = settings().sandbox;
  return run?.doc.leave.sandbox ?? (mode === 'auto' ? capabilities.bubblewrap !== undefined : mode === 'require');
}
