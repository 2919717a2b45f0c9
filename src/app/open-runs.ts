import type { JobManager } from '../agents/job-manager.ts';
import type { JobRunner } from '../agents/job-runner.ts';
import type { AdapterRegistry } from '../agents/registry.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import type { Core } from '../protocol/operations.ts';
import type { EmbeddedEngine } from '../workflow/durable/embedded-engine.ts';
import { isByName } from '../workflow/language/worker-name.ts';
import { journalBlobs } from '../workflow/memory/journal-blobs.ts';
import type { WorkflowPorts } from '../workflow/run/ports.ts';
import { defineWorkflows } from '../workflow/run/run-body.ts';
import { BlockAgents } from '../workflow/runs/block-agents.ts';
import { CallLog } from '../workflow/runs/call-log.ts';
import { endRunsIn } from '../workflow/runs/end.ts';
import { RunOperations } from '../workflow/runs/operations.ts';
import { RunPlanner } from '../workflow/runs/plan.ts';
import { findRun } from '../workflow/runs/spec.ts';
import { RunStarter } from '../workflow/runs/start.ts';
import { RunStatus } from '../workflow/runs/status.ts';
import { WorkflowRuns } from '../workflow/runs/workflow-runs.ts';
import { createRunCaptures } from '../worktrees/run-captures.ts';
import { bindMethods } from './bind-methods.ts';
import { createJobOperations } from './job-operations.ts';
import type { Repository, RepositoryDeps } from './open-repository.ts';
import { WorktreeOperations } from './worktree-operations.ts';

interface RunsDeps extends RepositoryDeps {
  repository: Repository;
  registry: AdapterRegistry;
  runner: JobRunner;
  jobs: JobManager;
  engine: EmbeddedEngine;
}

/** Runs, and all operations of a repository. */
export interface Runs {
  core: Core;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A hand-over to an agent is bounded; what does not fit is pointed at. */
const PROMPT_TOKENS = 4_999;
/** More than this is too long whatever it holds, and need not be counted. */
const CHARACTERS_PER_TOKEN = 16;

export function openRuns(deps: RunsDeps): Runs {
  const { clock, log, store, signal, runner, jobs, engine, newId, redact, repository } = deps;
  const { worktrees, notices, code, states, project, context } = repository;
  const blobs = journalBlobs(store);
  const runs = new WorkflowRuns({ engine, blobs, clock, newId });
  defineWorkflows(engine, workflowPorts(deps, { runs, blobs }));
  const starter = new RunStarter({ store, engine, runs, worktrees, signal, log, notice: notices.post });
  const calls = new CallLog({ store, signal, jobs, worktrees, newId });
  const status = new RunStatus({ store, runs, starter, worktrees, redact });
  const planner = new RunPlanner({ ...deps, project });
  const operations = new RunOperations({ ...deps, engine, runs, planner, starter, status, worktrees, calls });
  const awaitWorktree = (id: string) =>
    void worktrees
      .whenReady(id)
      .catch(() => {})
      .finally(() => runner.kick());
  const worktreeOperations = new WorktreeOperations({
    worktrees,
    store,
    newId,
    redact,
    code,
    status,
    onSetUp: () => starter.recover(),
    async endWork(id) {
      await endRunsIn({ store, engine }, id);
      for (const job of worktrees.jobsIn(id)) await jobs.kill({ id: job }, { by: 'reef', surface: 'cli' });
    },
  });
  const core: Core = {
    ...createJobOperations({ ...repository, jobs, store, runs: operations, status, newId, awaitWorktree }),
    ...runCore(operations),
    ...worktreeCore(worktreeOperations),
    ...code.core(),
    ...bindMethods(states, 'repo_state', 'artifact_read', 'todo', 'context_calls'),
    ...bindMethods(project, 'trust'),
  };
  return {
    core,
    async start() {
      void settle(repository, log);
      await status.storeOldVerdicts();
      await engine.recover();
      starter.recover();
      for (const { job } of store.jobs.live()) if (job.status === 'queued' && job.worktree) awaitWorktree(job.worktree);
    },
    async close() {
      await starter.close();
      await engine.close();
      await worktrees.close();
      await context.close();
    },
  };
}

/** Runs that will go on without a person: a daemon may end while the others wait, and lose nothing. */
export function activeRuns({ store }: Pick<RepositoryDeps, 'store'>): number {
  const waiting = new Set(store.journal.openWaits().map(({ runId }) => runId));
  return store.runs.open().filter(({ id }) => !waiting.has(id)).length;
}

type EngineDeps = { runs: WorkflowRuns; blobs: WorkflowPorts['blobs'] };

function workflowPorts(deps: RunsDeps, { runs, blobs }: EngineDeps): WorkflowPorts {
  const { clock, store, signal, registry, jobs, repository } = deps;
  const { git, gates, worktrees, context, states } = repository;
  const permissionsOf = (runId: string) => findRun(store, runId).doc.leave;
  return {
    ...gates,
    clock,
    blobs,
    openDir: createSafeDir,
    defaultAgent: deps.settings().default_agent,
    jobs: new BlockAgents({ jobs, store, signal, permissionsOf }),
    plans: { addToChangePlan: (files, id) => worktrees.addToChangePlan(files, id) },
    captures: createRunCaptures({ git, clock }),
    branchWorktrees: {
      create: (key, from) => worktrees.branchOff(key, from),
      mergeBack: (_key, branch, parent) => worktrees.mergeBack(branch, parent),
    },
    prompt: {
      limit: PROMPT_TOKENS,
      // Counted, not guessed: a log of hashes has half the characters a token that prose has.
      measure: (text) => (text.length > PROMPT_TOKENS * CHARACTERS_PER_TOKEN ? text.length : context.tokens(text)),
      outline: (file) => context.outline(file),
      // One `artifact_read` away from the agents of that run.
      async keep(runId, text) {
        await states.artifactsOf(runId, runId).put(text, { jobId: runId });
      },
    },
    repoState: (path) => states.brief(path),
    codeContext: (request) => blockContext(repository, request),
    keepVerdicts: (runId, verdicts) => store.commit(() => store.verdicts.insert(runId, verdicts)),
    isAgent: (name) => registry.names().includes(name) || isByName(name),
    steppingOf: (runId) => runs.steppingOf(runId),
  };
}

/** Off the critical path: nobody waits for the look at what an earlier daemon left. */
async function settle({ worktrees, states }: Repository, log: Logger): Promise<void> {
  try {
    await worktrees.reconcile();
    worktrees.evaluate();
  } catch (error) {
    log.warn('the worktrees could not be looked at', { error });
  }
  await states.pruneArtifacts().catch((error: unknown) => log.warn('artifacts could not be pruned', { error }));
}

function runCore(operations: RunOperations) {
  return {
    ...bindMethods(operations, 'run', 'runs', 'run_status', 'run_control', 'run_replay'),
    ...bindMethods(operations, 'block_result', 'calls', 'call_rerun'),
  };
}

function worktreeCore(operations: WorktreeOperations) {
  return {
    ...bindMethods(operations, 'worktrees', 'worktree_create', 'worktree_setup', 'diff', 'accept', 'worktree_discard'),
    ...bindMethods(operations, 'worktree_restore', 'worktree_hold', 'worktree_prune', 'conflicts'),
  };
}

type ContextRequest = Parameters<NonNullable<WorkflowPorts['codeContext']>>[0];

/** Slices may name the plan and what is changed so far. */
async function blockContext({ context, worktrees }: Repository, request: ContextRequest) {
  const worktree = (await worktrees.list()).find(({ path }) => path === request.worktreePath);
  const changed = worktree ? (await worktrees.diff(worktree.id)).files.map(({ path }) => path) : [];
  const plan = (worktree?.changePlan ?? []).map(({ path }) => path).filter((path) => !/[*?[{]/.test(path));
  return context.slices({ ...request, plan, changed });
}
