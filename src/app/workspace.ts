import { basename, join } from 'node:path';
import { CODER } from '../agents/coder-name.ts';
import type { GuardedFolders } from '../agents/guarded-folders.ts';
import type { JobManager } from '../agents/job-manager.ts';
import type { JobRunner } from '../agents/job-runner.ts';
import { isLive } from '../agents/job-status.ts';
import type { AdapterRegistry } from '../agents/registry.ts';
import { sandboxFor } from '../agents/sandbox.ts';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/env.ts';
import type { Home } from '../base/home.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { createGit, type Git } from '../git/git-command.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { allowedEnv, SYSTEM_PATH } from '../process/environment.ts';
import { run } from '../process/run.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Core } from '../protocol/operations.ts';
import type { UserConfig } from '../runtime/config-file.ts';
import { TrustFile, trustPath } from '../runtime/trust-file.ts';
import type { Store } from '../store/store.ts';
import { EmbeddedEngine } from '../workflow/durable/embedded-engine.ts';
import { isByName } from '../workflow/language/worker-name.ts';
import { journalBlobs } from '../workflow/memory/journal-blobs.ts';
import type { WorkflowPorts } from '../workflow/run/ports.ts';
import { defineWorkflows } from '../workflow/run/run-body.ts';
import { WorkflowRuns } from '../workflow/run/runs.ts';
import { boundGates } from '../workflow/workers/bound-gates.ts';
import { GitWorktreeManager } from '../worktrees/manager.ts';
import { createRunCaptures } from '../worktrees/run-captures.ts';
import { BlockAgents } from './agent-jobs.ts';
import { bound } from './bound.ts';
import { CallLog } from './call-log.ts';
import { openCodeContext } from './code-context.ts';
import { CodeDesk } from './code-desk.ts';
import { jobDesk } from './job-desk.ts';
import { Project } from './project.ts';
import { findRun, type RunOrder } from './run-book.ts';
import { RunDesk } from './run-desk.ts';
import { RunGates } from './run-gates.ts';
import { RunOrders } from './run-orders.ts';
import { RunStarter } from './run-starter.ts';
import { RunViews } from './run-views.ts';
import { StateDesk } from './state-desk.ts';
import { WorktreeActivity } from './worktree-activity.ts';
import { NoticeBoard, WorktreeDesk } from './worktree-desk.ts';

export interface WorkspaceParts {
  home: Home;
  /** The main checkout. */
  repository: string;
  env: Environment;
  clock: Clock;
  log: Logger;
  store: Store;
  signal: ChangeSignal;
  capabilities: Capabilities;
  registry: AdapterRegistry;
  guards: GuardedFolders;
  runner: JobRunner;
  jobs: JobManager;
  newId(): string;
  redact<T>(value: T): T;
  isPortFree(port: number): Promise<boolean>;
  /** The user's configuration as it is now. */
  settings(): Pick<UserConfig, 'defaultAgent' | 'gates' | 'worktrees' | 'context'>;
}

/** Everything that works on one repository: its worktrees, its runs, and its jobs among them. */
export interface Workspace {
  core: Core;
  folderOf(worktreeId: string): string | undefined;
  /** What is true of its worktree; empty where nothing happened, or for the coder, which keeps it itself. */
  briefOf(job: Job): Promise<string>;
  /** A job began, ended or asked something. */
  jobsChanged(): void;
  /** Of a job that ends. */
  endRuns(jobId: string): Promise<void>;
  /** Runs that will go on without a person. */
  activeRuns(): number;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A hand-over to an agent is bounded (repostate); what does not fit is pointed at. */
const PROMPT_TOKENS = 4_999;
/** More than this is too long whatever it holds, and need not be counted. */
const CHARACTERS_PER_TOKEN = 16;

export async function openWorkspace(parts: WorkspaceParts): Promise<Workspace> {
  const { clock, log, store, signal, runner, jobs, newId, redact } = parts;
  const project = new Project({ root: parts.repository, trust: new TrustFile(trustPath(parts.env)), clock });
  const notices = new NoticeBoard(clock);
  const gates = gateHands(parts);
  const git = createGit({ run, env: allowedEnv(parts.env.all, [], { PATH: SYSTEM_PATH }) });
  const { commonDir } = await git.locate(parts.repository);
  const context = openCodeContext({ ...parts, commonDir, settings: parts.settings().context });
  const worktrees = await openWorktrees(parts, {
    ...{ git, project, notices, gates, context },
    ...{ runs: () => ({ desk, views }), code: () => code },
  });
  const code = new CodeDesk({ store, repository: parts.repository, worktrees, ...context });
  const states = new StateDesk({
    ...{ home: parts.home, store, git, clock, log, repository: parts.repository, worktrees, redact },
    placeOf: (wanted, caller) => code.placeOf(wanted, caller),
  });
  const activity = new WorktreeActivity({ store, folderOf: (id) => worktrees.folder(id) });
  context.servers.follow(activity);
  const { engine, runs } = openEngine(parts, { git, gates, worktrees, context, activity, states });
  const starter = new RunStarter({ store, engine, runs, worktrees, signal, log, notice: notices.post });
  const calls = new CallLog({ store, jobs, worktrees, newId, ended: (id) => ended(parts, id) });
  const views: RunViews = new RunViews({ store, runs, starter, worktrees, redact });
  const orders = new RunOrders({ ...parts, project });
  const desk: RunDesk = new RunDesk({
    ...{ store, clock, signal, runs, orders, starter, views, worktrees, calls, newId, redact },
    lend: (jobId) => runner.lend(jobId),
  });
  const awaitHousing = (id: string) =>
    void worktrees
      .whenReady(id)
      .catch(() => {})
      .finally(() => runner.kick());
  const core: Core = {
    ...jobDesk({
      ...{ jobs, store, runs: desk, views, worktrees, notices, newId, awaitHousing },
      briefOf: (job) => briefOf(states, job),
    }),
    ...bound(desk, 'run', 'runs', 'run_status', 'run_control', 'run_replay', 'block_result', 'calls', 'call_rerun'),
    ...worktreeCore(
      new WorktreeDesk({
        ...{ worktrees, newId, redact, code, onSetUp: () => starter.recover() },
        ownOf: (jobId) => store.jobs.get(jobId)?.job.worktree,
      }),
    ),
    ...code.core(),
    ...bound(states, 'repo_state', 'artifact_read', 'todo', 'context_calls'),
    ...bound(project, 'trust'),
  };
  return {
    core,
    folderOf: (id) => worktrees.folder(id),
    briefOf: (job) => briefOf(states, job),
    jobsChanged: () => activity.look(),
    endRuns: (jobId) => desk.endOf(jobId),
    activeRuns: () => activeRuns(store),
    async start() {
      void settle({ worktrees, log });
      await engine.recover();
      starter.recover();
      for (const { job } of store.jobs.live()) if (job.status === 'queued' && job.worktree) awaitHousing(job.worktree);
    },
    async close() {
      await starter.close();
      await engine.close();
      await worktrees.close();
      await context.close();
    },
  };
}

/** How gates are run, by a run and once more on a merged tree. */
function gateHands(parts: WorkspaceParts) {
  const { env, capabilities, guards } = parts;
  return {
    runGate: boundGates({
      capabilities,
      sandboxOf: (path) => gateSandbox(parts, path),
      enter: (path) => guards.enter(path),
    }),
    gateEnv: (path: string) => allowedEnv(env.all, [], { PATH: `${join(path, 'node_modules', '.bin')}:${env.path}` }),
  };
}

interface WorktreeHands {
  git: Git;
  project: Project;
  notices: NoticeBoard;
  gates: ReturnType<typeof gateHands>;
  context: ReturnType<typeof openCodeContext>;
  /** They know each other: a run works in a worktree, and a worktree asks what its run says. */
  runs(): { desk: RunDesk; views: RunViews };
  code(): CodeDesk;
}

function openWorktrees(parts: WorkspaceParts, { git, project, notices, gates, context, runs, code }: WorktreeHands) {
  const { env, clock, log, store, signal, jobs, newId } = parts;
  const { root, max_active } = parts.settings().worktrees;
  return GitWorktreeManager.open({
    ...{ git, store, clock, log, newId, repository: parts.repository, isPortFree: parts.isPortFree },
    ...{ dataHome: env.dataHome, stateHome: env.stateHome },
    ...(root !== undefined && { root }),
    ...(max_active !== undefined && { settings: { maxActive: max_active } }),
    // Its scripts, too, may execute what an agent wrote.
    run: (spec) =>
      gates.runGate({
        ...{ ...spec, env: allowedEnv(env.all, [], { ...spec.env }) },
        ...{ output: 'apart', abort: new AbortController().signal },
      }),
    jobs: {
      isBusy: async (id) => liveJobsIn(store, id).length > 0 || (await runs().views.isBusy(id)),
      async end(id) {
        await runs().desk.endIn(id);
        for (const job of liveJobsIn(store, id)) await jobs.kill({ id: job }, { by: 'reef', surface: 'cli' });
      },
      vacate: (folder) => context.servers.spinDownServer(folder),
    },
    references: { related: (...question) => code().references.related(...question) },
    gates: new RunGates({ runIn: (id) => runs().views.gatesIn(id), ...gates }),
    items: { include: () => project.include(), scripts: () => project.scripts() },
    sessionOf: (id) => runs().views.sessionOf(id),
    announce(notice) {
      notices.post(notice);
      signal.notify();
    },
  });
}

interface EngineHands extends Pick<WorktreeHands, 'git' | 'gates' | 'context'> {
  worktrees: GitWorktreeManager;
  activity: WorktreeActivity;
  states: StateDesk;
}

function openEngine(parts: WorkspaceParts, { git, gates, worktrees, context, activity, states }: EngineHands) {
  const { clock, log, store, signal, registry, jobs, newId } = parts;
  const engine = new EmbeddedEngine({
    ...{ store, clock, log },
    onEntry(_runId, { kind }) {
      if (kind === 'step') worktrees.touched();
      activity.look();
      signal.notify();
    },
  });
  const blobs = journalBlobs(store);
  const runs = new WorkflowRuns({ engine, blobs, clock, newId });
  const leaveOf = (runId: string) => findRun(store, runId).doc.leave;
  defineWorkflows(engine, {
    ...{ clock, blobs, ...gates, openDir: createSafeDir, defaultAgent: parts.settings().defaultAgent },
    jobs: new BlockAgents({ jobs, store, signal, leaveOf }),
    plans: { addToChangePlan: (files, id) => worktrees.addToChangePlan(files, id) },
    captures: createRunCaptures({ git, clock }),
    branchWorktrees: {
      create: (key, from) => worktrees.branchOff(key, from),
      mergeBack: (_key, branch, parent) => worktrees.mergeBack(branch, parent),
    },
    prompt: {
      limit: PROMPT_TOKENS,
      measure: (text) => measure(text, context),
      outline: (file) => context.outline(file),
      // One `artifact_read` away from the agents of that run (S-37).
      async keep(runId, text) {
        await states.artifactsOf(runId, runId).put(text, { jobId: runId });
      },
    },
    repoState: (path) => states.brief(path),
    codeContext: (request) => blockContext({ context, worktrees }, request),
    isAgent: (name) => registry.names().includes(name) || isByName(name),
    steppingOf: (runId) => runs.steppingOf(runId),
  });
  return { engine, runs };
}

/** Off the critical path: nobody waits for the look at what an earlier daemon left. */
async function settle({ worktrees, log }: { worktrees: GitWorktreeManager; log: Logger }): Promise<void> {
  try {
    await worktrees.reconcile();
    worktrees.evaluate();
  } catch (error) {
    log.warn('the worktrees could not be looked at', { error });
  }
}

function worktreeCore(desk: WorktreeDesk) {
  return {
    ...bound(desk, 'worktrees', 'worktree_create', 'worktree_setup', 'diff', 'accept', 'worktree_discard'),
    ...bound(desk, 'worktree_restore', 'worktree_hold', 'worktree_prune', 'conflicts'),
  };
}

/** Gates execute what an agent wrote: a run in a sandbox has its gates in one too. */
function gateSandbox({ store, home, env }: WorkspaceParts, path: string) {
  const id = basename(path).replace(/^scratch-/, '');
  const [order] = store.runs.byWorktree<RunOrder>(id);
  if (!order?.doc.leave.sandbox) return undefined;
  const surroundings = { stateDirs: [], homeDir: home.dir, env: env.all, agentEnv: {}, program: '/bin/sh' };
  return sandboxFor({ id: `gate-${id}`, cwd: path, sandbox: 'bubblewrap' }, surroundings);
}

async function briefOf(
  states: StateDesk,
  { agent, worktree, cwd }: Pick<Job, 'agent' | 'worktree' | 'cwd'>,
): Promise<string> {
  if (worktree === undefined || agent === CODER) return '';
  return states.brief(cwd).catch(() => ''); // an agent can do without
}

function liveJobsIn(store: Store, worktreeId: string): string[] {
  const live = store.jobs.live().filter(({ job }) => job.worktree === worktreeId && job.status !== 'paused');
  return live.map(({ job }) => job.id);
}

async function ended({ store, signal }: WorkspaceParts, jobId: string): Promise<void> {
  for (;;) {
    const status = store.jobs.get(jobId)?.job.status;
    if (status === undefined || !isLive(status)) return;
    await signal.next(1_000);
  }
}

/** Not those that wait for a person: a daemon may end meanwhile and lose nothing. */
function activeRuns(store: Store): number {
  const waiting = new Set(store.journal.openWaits().map(({ runId }) => runId));
  return store.runs.open().filter(({ id }) => !waiting.has(id)).length;
}

type ContextRequest = Parameters<NonNullable<WorkflowPorts['codeContext']>>[0];

/** Slices may name the plan and what is changed so far. */
async function blockContext(
  { context, worktrees }: Pick<EngineHands, 'context' | 'worktrees'>,
  { slices, budget, worktreePath, task, args }: ContextRequest,
) {
  const worktree = (await worktrees.list()).find(({ path }) => path === worktreePath);
  const changed = worktree ? (await worktrees.diff(worktree.id)).files.map(({ path }) => path) : [];
  const plan = (worktree?.changePlan ?? []).map(({ path }) => path).filter((path) => !/[*?[{]/.test(path));
  return context.slices({ slices, budget, worktreePath, task, args, plan, changed });
}

/** Counted, not guessed: a log of hashes has half the characters a token that prose has. */
async function measure(text: string, { tokens }: EngineHands['context']): Promise<number> {
  return text.length > PROMPT_TOKENS * CHARACTERS_PER_TOKEN ? text.length : tokens(text);
}
