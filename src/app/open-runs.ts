import type { JobManager } from '../agents/job-manager.ts';
import type { JobRunner } from '../agents/job-runner.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import type { Core } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import type { DurableEngine } from '../workflow/durable/durable-engine.ts';
import { journalBlobs } from '../workflow/durable/journal.ts';
import { isByName } from '../workflow/language/names.ts';
import type { WorkflowPorts } from '../workflow/run/ports.ts';
import { defineWorkflows } from '../workflow/run/run-body.ts';
import { BlockAgents } from '../workflow/runs/block-agents.ts';
import { CallLog } from '../workflow/runs/call-log.ts';
import { MovingRuns } from '../workflow/runs/moving.ts';
import type { Once } from '../workflow/runs/once.ts';
import { RunOperations } from '../workflow/runs/operations.ts';
import { RunPlanner } from '../workflow/runs/plan.ts';
import { findRun } from '../workflow/runs/spec.ts';
import { RunStarter } from '../workflow/runs/start.ts';
import { RunStatus } from '../workflow/runs/status.ts';
import { WorkflowRuns } from '../workflow/runs/workflow-runs.ts';
import { createRunCaptures } from '../worktrees/run-captures.ts';
import { bindMethods, createJobOperations } from './job-operations.ts';
import { namingTasks } from './named-operations.ts';
import type { Repository, RepositoryDeps } from './open-repository.ts';
import type { RecordOperations } from './record-operations.ts';
import { createWorktreeOperations } from './worktree-operations.ts';

interface RunsDeps extends RepositoryDeps {
  repository: Repository;
  runner: JobRunner;
  jobs: JobManager;
  engine: DurableEngine;
  records: RecordOperations;
  fleet?: FleetPorts | undefined;
}

/** What a worker of a fleet does for its runs. */
export interface FleetPorts {
  /** With the work of a block that has ended. */
  carry: NonNullable<WorkflowPorts['carry']>;
  once: Once;
}

/** The longest hand-over to an agent; the rest is kept as an artifact. */
const PROMPT_TOKENS = 4_999;
/** A longer text has too many tokens in any case, and is not counted. */
const CHARACTERS_PER_TOKEN = 16;

/** A merged worktree in which a process stood is tried again. */
const RETRY_MS = 600_000;

/** Runs, and all operations of a repository. */
export function openRuns(deps: RunsDeps) {
  const { clock, log, store, signal, runner, jobs, engine, newId, redact, repository, records } = deps;
  const { worktrees, names, notices, code, states, project, context } = repository;
  const blobs = journalBlobs(store);
  const runs = new WorkflowRuns({ engine, blobs, clock, newId });
  defineWorkflows(engine, workflowPorts(deps, runs, blobs));
  const starter = new RunStarter({ ...deps, runs, worktrees, notice: notices.post, once: deps.fleet?.once });
  const calls = new CallLog({ store, signal, jobs, worktrees, newId });
  const status = new RunStatus({ store, runs, starter, worktrees, redact });
  const planner = new RunPlanner({ ...deps, project });
  const operations = new RunOperations({ ...deps, engine, runs, planner, starter, status, worktrees, calls });
  const awaitWorktree = (id: string) =>
    void worktrees
      .whenReady(id)
      .catch(() => {})
      .finally(() => runner.kick());
  const moving = new MovingRuns({ ...deps, worktrees, starter });
  const core: Core = {
    ...createJobOperations({ ...repository, clock, jobs, store, runs: operations, status, newId, awaitWorktree }),
    ...bindMethods(records, 'usage', 'job_log', 'events', 'prune'),
    ...bindMethods(operations, 'run', 'runs', 'run_status', 'run_control', 'run_from_pr', 'run_replay', 'run_log'),
    ...bindMethods(operations, 'run_follow', 'run_compare', 'run_review'),
    ...bindMethods(operations, 'block_result', 'calls', 'call_rerun'),
    ...createWorktreeOperations({ ...deps, ...repository, status, starter, operations }),
    ...code.core(),
    ...bindMethods(states, 'repo_state', 'artifact_read', 'todo', 'context_calls'),
    ...bindMethods(project, 'trust'),
  };
  let retrying: NodeJS.Timeout | undefined;
  return {
    core: namingTasks({ core, names, signal }),
    /** Begins a run that was queued in a fleet, under the id it has there. */
    beginQueued: operations.beginQueued.bind(operations),
    moving,
    async start() {
      void settle(repository, log).then(() => starter.dropBranches());
      retrying = setInterval(() => void retryLeftovers(repository, log), RETRY_MS).unref();
      await status.storeOldVerdicts();
      await engine.recover();
      starter.recover();
      for (const { job } of store.jobs.live()) if (job.status === 'queued' && job.worktree) awaitWorktree(job.worktree);
    },
    async close() {
      clearInterval(retrying);
      await starter.close();
      await engine.close();
      await worktrees.close();
      await context.close();
    },
  };
}

/** How many runs continue without a person. A daemon may end while all others wait for one. */
export function activeRuns(store: Store): number {
  const waiting = store.journal.waitingForPerson();
  return store.runs.open().filter(({ id }) => !waiting.has(id)).length;
}

function workflowPorts(deps: RunsDeps, runs: WorkflowRuns, blobs: WorkflowPorts['blobs']): WorkflowPorts {
  const { clock, store, signal, registry, jobs, repository, fleet } = deps;
  const { git, copies, gates, worktrees, context, states } = repository;
  const permissionsOf = (runId: string) => findRun(store, runId).doc.leave;
  return {
    ...gates,
    clock,
    blobs,
    openDir: createSafeDir,
    defaultAgent: () => deps.settings().default_agent,
    jobs: new BlockAgents({ jobs, store, signal, permissionsOf }),
    captures: createRunCaptures({ git, clock, copies }),
    worktrees,
    prompt: {
      limit: PROMPT_TOKENS,
      // Counted, not estimated from the length: a token of a log of hashes has half the characters of one of prose.
      measure: (text) => (text.length > PROMPT_TOKENS * CHARACTERS_PER_TOKEN ? text.length : context.tokens(text)),
      outline: (file) => context.outline(file),
      // The agents of that run read it with `artifact_read`.
      async keep(runId, text) {
        await states.artifactsOf(runId, runId).put(text, { jobId: runId });
      },
    },
    repoState: (path) => states.brief(path),
    edited: (path, files) => context.servers.announce(path, files),
    codeContext: (request) => blockContext(repository, request),
    keepVerdicts: (runId, verdicts) => store.commit(() => store.verdicts.insert(runId, verdicts)),
    hasPassed: (tree, key) => store.verdicts.hasPassed(tree, key),
    ...(fleet && { carry: fleet.carry }),
    isAgent: (name) => registry.names().includes(name) || isByName(name),
    steppingOf: (runId) => runs.steppingOf(runId),
  };
}

/** Cleans up after an earlier daemon. Nobody waits for it. */
async function settle({ worktrees }: Repository, log: Logger): Promise<void> {
  try {
    await worktrees.reconcile();
    await worktrees.retryLeftovers();
    worktrees.evaluate();
  } catch (error) {
    log.warn('worktrees could not be reconciled', { error });
  }
}

async function retryLeftovers({ worktrees }: Repository, log: Logger): Promise<void> {
  await worktrees.retryLeftovers().catch((error: unknown) => log.warn('leftover worktrees stay', { error }));
}

type ContextRequest = Parameters<NonNullable<WorkflowPorts['codeContext']>>[0];

/** Slices may refer to the change plan and to the files changed so far. */
async function blockContext({ context, worktrees }: Repository, request: ContextRequest) {
  const worktree = (await worktrees.list()).find(({ path }) => path === request.worktreePath);
  const changed = worktree ? (await worktrees.diff(worktree.id)).files.map(({ path }) => path) : [];
  const plan = (worktree?.changePlan ?? []).map(({ path }) => path).filter((path) => !/[*?[{]/.test(path));
  return context.slices({ ...request, plan, changed });
}
