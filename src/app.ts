import { JobManager } from './agents/job-manager.ts';
import { JobRunner } from './agents/job-runner.ts';
import type { JobSockets } from './agents/launcher.ts';
import { AdapterRegistry } from './agents/registry.ts';
import { GuardedFolders } from './agents/sandbox.ts';
import { Snapshotter } from './agents/snapshotter.ts';
import { liveTimings } from './agents/timings.ts';
import { withClientRules } from './app/client-rules.ts';
import { openFigures } from './app/figures.ts';
import { HomeRetention } from './app/home-retention.ts';
import { jobGit } from './app/job-git.ts';
import { withoutRepository } from './app/job-operations.ts';
import { Notices } from './app/notices.ts';
import { adoptOldHome } from './app/old-home.ts';
import { findRepository, openRepository, type Repository } from './app/open-repository.ts';
import { activeRuns, type FleetPorts, openRuns } from './app/open-runs.ts';
import { RecordOperations } from './app/record-operations.ts';
import { openRepositoryFolder } from './app/repository-folder.ts';
import { UserSettings } from './app/user-settings.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { Environment } from './base/env.ts';
import type { Home } from './base/home.ts';
import { createIds } from './base/ids.ts';
import { type Logger, limited } from './base/log.ts';
import { ChangeSignal } from './events/change-signal.ts';
import { EventLog } from './events/event-log.ts';
import { probeCapabilities } from './process/capabilities.ts';
import type { Job } from './protocol/jobs.ts';
import { GrantsFile, grantsPath } from './runtime/config/grants-file.ts';
import { TrustFile, trustPath } from './runtime/config/trust-file.ts';
import type { AuditEntry } from './store/audit-table.ts';
import { openStore } from './store/open-store.ts';
import { SnapshotFile } from './store/snapshot-file.ts';
import type { Store } from './store/store.ts';
import type { DurableEngine } from './workflow/durable/durable-engine.ts';
import { EmbeddedEngine } from './workflow/durable/embedded-engine.ts';
import type { JournalDeps } from './workflow/durable/journal.ts';
import { projectFilesOf } from './workflow/project/agent-settings.ts';
import { blockOf } from './workflow/runs/spec.ts';
import { endRunsOf } from './workflow/runs/start.ts';

export interface AppOptions {
  home: Home;
  env: Environment;
  log: Logger;
  version: string;
  jobSockets: JobSockets;
  isPortFree(port: number): Promise<boolean>;
  /** A worker of a fleet brings its own; otherwise runs are recorded in the home. */
  openEngine?(deps: EngineDeps): DurableEngine;
  fleet?: FleetPorts;
}

type EngineDeps = JournalDeps & { log: Logger };

const DAEMON_IDLE_MS = 600_000;

/** The composition root of the daemon. */
export async function openApp(options: AppOptions) {
  const { home, env, log, isPortFree, fleet } = options;
  const clock = systemClock;
  const { read: readSettings, last: lastSettings, redact, secrets, watch } = new UserSettings(env);
  const timings = liveTimings(() => lastSettings().timings);
  const { found, refusal } = await findRepository({ home, env });
  if (found) await adoptOldHome({ home, env, log }, found);
  const hook = new SnapshotFile(home.snapshot, found && openRepositoryFolder(found.root));
  const store = await openStore(home, { hook, clock, log });
  const eventLog = new EventLog({ rows: store.events, clock, redact });
  const storage = { store, log: eventLog, clock, savedGrants: new GrantsFile(grantsPath(env)) };
  const signal = new ChangeSignal();
  const snapshotter = openSnapshotter({ store, hook, clock, log, redact });
  const registry = new AdapterRegistry(() => readSettings().agents);
  const folder = home.repository ?? home.dir;
  const made = { capabilities: await probeCapabilities(), guards: new GuardedFolders(store), newId: createIds(clock) };
  const below = { home, env, clock, log, store, signal, ...made, redact, settings: readSettings, lastSettings };
  const repository = found && (await openRepository({ ...below, registry, isPortFree }, found));
  const engine = openEngine({ ...below, open: options.openEngine, snapshotter }, repository);
  const shared = { ...below, storage, registry, timings, retention: new HomeRetention(below) };
  const work = onceATurn(() => workChanged(repository));
  const runner = new JobRunner({
    ...shared,
    ...{ env: env.all, homeDir: home.dir, sockets: home.sockets, version: options.version },
    jobSockets: options.jobSockets,
    git: jobGit(repository),
    sandboxSettings: () => readSettings().sandbox,
    maxJobs: () => lastSettings().max_jobs,
    folderOf: (worktreeId) => repository?.worktrees.folder(worktreeId),
    passEnv: () => readSettings().pass_env,
    projectFilesOf: projectFilesOf({ root: home.repository, trust: new TrustFile(trustPath(env)) }),
    onChange: () => {
      snapshotter.changed();
      work.changed();
    },
  });
  const jobs = new JobManager({
    ...shared,
    runner,
    defaultCwd: folder,
    searchPath: env.path,
    sandboxMode: () => readSettings().sandbox.mode,
    ...(repository && whatJobsAsk(repository, { store, engine })),
  });
  const records = new RecordOperations({ ...shared, log: eventLog, secrets });
  const runs = repository && openRuns({ ...shared, isPortFree, runner, jobs, engine, records, repository, fleet });
  if (refusal) log.warn('worktrees and runs are not served', { reason: refusal.message });
  const core = runs?.core ?? withoutRepository(jobs, records, refusal);
  const notices = new Notices({ ...below, core, env: env.all, folder, settings: lastSettings });
  const unwatch = watch(log, () => {
    runner.kick();
    repository?.worktrees.settingsChanged();
  });
  return {
    ...(runs && { beginQueued: runs.beginQueued, moving: runs.moving }),
    core: withClientRules(core, { store, registry, settings: readSettings }),
    /** Finds the process of every stored job, and begins to work. */
    async start() {
      await runner.start();
      await runs?.start();
      void jobs.endOrphans();
      notices.start();
      shared.retention.start();
    },
    /** Jobs and runs at work, and jobs that wait for a process or for their time. */
    counts: () => ({ live: runner.liveCount + (runs ? activeRuns(store) : 0), queued: jobs.waitingCount() }),
    figures: openFigures(store, home),
    ...whatOthersRead(store, signal),
    /** How long a daemon with nothing to do stays, in milliseconds. */
    idleMs: () => lastSettings().timings.daemon_idle ?? DAEMON_IDLE_MS,
    abandon: () => abandon(snapshotter, store),
    audit: openAudit({ ...below, onCall: () => snapshotter.changed() }),
    /** Closes everything; agents run on. `beforeJobs` is called when runs start no more jobs and jobs can still be ended. */
    async close(beforeJobs?: () => Promise<void>): Promise<void> {
      unwatch();
      jobs.close();
      await shared.retention.close();
      await notices.close();
      await runs?.close();
      await beforeJobs?.();
      await runner.close();
      work.close();
      await snapshotter.close();
      store.close();
    },
  };
}

/** `news` for who follows this home, `shipped` for a fleet that takes all of it. */
function whatOthersRead(store: Store, signal: ChangeSignal) {
  return {
    news: { changes: store.changes, signal, lastSeq: () => store.events.lastSeq() },
    shipped: { events: store.events, runOf: (jobId: string) => blockOf(store, jobId)?.runId },
  };
}

/** What jobs ask of the rooms above them. */
function whatJobsAsk({ states, worktrees }: Repository, deps: Omit<Parameters<typeof endRunsOf>[0], 'worktrees'>) {
  return {
    briefOf: (job: Job) => states.briefOf(job),
    waitsBehind: (worktreeId: string) => worktrees.waitsBehind(worktreeId),
    endRuns: (jobId: string) => endRunsOf({ ...deps, worktrees }, jobId),
  };
}

/** For a home that is no longer there: stops writing outside the database, and names the jobs that nobody will find. */
function abandon(snapshotter: Snapshotter, store: Store): string[] {
  snapshotter.abandon();
  return store.jobs.live().map(({ job }) => job.id);
}

/** Called after each call that may have changed something. Never throws: the audited call has its own answer. */
function openAudit({ store, clock, log, onCall }: { store: Store; clock: Clock; log: Logger; onCall(): void }) {
  return (entry: AuditEntry): void => {
    onCall();
    try {
      store.audit.append(clock.now().toISOString(), entry);
    } catch (error) {
      log.error('the audit cannot be written', { entry, error });
    }
  };
}

function openSnapshotter({
  log,
  ...deps
}: Omit<ConstructorParameters<typeof Snapshotter>[0], 'onFailure'> & { log: Logger }) {
  const onFailure = limited(deps.clock, (error: unknown, count) =>
    log.warn('state.json cannot be written', { error, count }),
  );
  return new Snapshotter({ ...deps, onFailure });
}

/** Each step of a run may change worktrees and which analysis servers are needed, and wakes those who wait. */
function openEngine(
  deps: EngineDeps & { signal: ChangeSignal; open: AppOptions['openEngine']; snapshotter: Snapshotter },
  repository?: Repository,
): DurableEngine {
  const { store, clock, log, signal, snapshotter } = deps;
  const open = deps.open ?? ((each: EngineDeps) => new EmbeddedEngine(each));
  return open({
    store,
    clock,
    log,
    onEntry(_runId, { kind }) {
      snapshotter.changed();
      if (kind === 'step') repository?.worktrees.touched();
      workChanged(repository);
      signal.notify();
    },
  });
}

function workChanged(repository: Repository | undefined): void {
  repository?.activity.look();
  repository?.worktrees.workChanged();
  repository?.edits.look();
}

/** Each look reads all live jobs: a thousand changes in one turn of the event loop are looked at once. */
function onceATurn(look: () => void) {
  let due: NodeJS.Immediate | undefined;
  return {
    changed(): void {
      due ??= setImmediate(() => {
        due = undefined;
        look();
      });
    },
    close: () => clearImmediate(due),
  };
}
