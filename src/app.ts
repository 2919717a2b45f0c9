import { GuardedFolders } from './agents/guarded-folders.ts';
import { JobManager } from './agents/job-manager.ts';
import { JobRunner } from './agents/job-runner.ts';
import type { JobDoors } from './agents/launcher.ts';
import { AdapterRegistry } from './agents/registry.ts';
import { Snapshotter } from './agents/snapshotter.ts';
import { defaultTimings } from './agents/timings.ts';
import { openWorkspaceOrSay } from './app/no-workspace.ts';
import { type Clock, systemClock } from './base/clock.ts';
import type { Environment } from './base/env.ts';
import type { Home } from './base/home.ts';
import { createIds } from './base/ids.ts';
import { type Logger, limited } from './base/log.ts';
import { createRedactor, redactDeep } from './base/redact.ts';
import { ChangeSignal } from './events/change-signal.ts';
import { EventLog } from './events/event-log.ts';
import { probeCapabilities } from './process/capabilities.ts';
import type { Core } from './protocol/operations.ts';
import { configPath, readConfig, type UserConfig } from './runtime/config-file.ts';
import { GrantsFile, grantsPath } from './runtime/grants-file.ts';
import { secretsOf } from './runtime/secrets.ts';
import type { AuditEntry } from './store/audit-table.ts';
import { openStore } from './store/open-store.ts';
import { SnapshotFile } from './store/snapshot-file.ts';

export interface App {
  core: Core;
  /** Finds every stored job its process again, and begins to work. */
  start(): Promise<void>;
  /** Jobs with a process, and those that wait for one. */
  counts(): { live: number; queued: number };
  lastSeq(): number;
  audit(entry: AuditEntry): void;
  /**
   * Lets go of everything in reverse order; agents run on. `beforeJobs` is called when runs start no more jobs, and jobs can
   * still be ended.
   */
  close(beforeJobs?: () => Promise<void>): Promise<void>;
}

export interface AppOptions {
  home: Home;
  env: Environment;
  log: Logger;
  version: string;
  doors: JobDoors;
  isPortFree(port: number): Promise<boolean>;
}

/** The composition root: the only place where parts meet. */
export async function openApp(options: AppOptions): Promise<App> {
  const { home, env, log } = options;
  const clock: Clock = systemClock;
  const { readSettings, redact } = openSettings(env);
  const config = readSettings();
  const timings = { ...defaultTimings, ...config.timings };
  const hook = new SnapshotFile(home.snapshot);
  const store = await openStore(home, { hook, clock, log });
  const eventLog = new EventLog({ rows: store.events, clock, redact });
  const books = { store, log: eventLog, clock, standing: new GrantsFile(grantsPath(env)) };
  const signal = new ChangeSignal();
  const failures = limited(clock, (error: unknown, count) =>
    log.warn('state.json cannot be written', { error, count }),
  );
  const snapshotter = new Snapshotter({ store, hook, clock, onFailure: (error) => failures.report(error) });

  const registry = new AdapterRegistry(() => readSettings().agents);
  const capabilities = await probeCapabilities();
  const guards = new GuardedFolders(store);
  const shared = { books, registry, capabilities, timings, signal, log };
  const runner: JobRunner = new JobRunner({
    ...{ ...shared, clock, guards, env: env.all, homeDir: home.dir },
    ...{ version: options.version, doors: options.doors },
    maxJobs: () => config.maxJobs,
    folderOf: (worktreeId) => workspace.folderOf(worktreeId),
    onOver: (jobId) => void jobs.settle(jobId),
    onChange: () => {
      snapshotter.changed();
      workspace.jobsChanged();
    },
  });
  const newId = createIds(clock);
  const jobs: JobManager = new JobManager({
    ...shared,
    runner,
    newId,
    defaultCwd: home.repository ?? home.dir,
    searchPath: env.path,
    briefOf: (job) => workspace.briefOf(job),
    endRuns: (jobId) => workspace.endRuns(jobId),
  });
  const hands = {
    ...{ home, env, clock, log, store, signal, capabilities, registry, guards, runner, jobs, newId, redact },
    settings: readSettings,
  };
  const workspace = await openWorkspaceOrSay(home.repository, { ...hands, isPortFree: options.isPortFree });
  return {
    core: workspace.core,
    async start() {
      await runner.start();
      await workspace.start();
      void jobs.endOrphans();
    },
    counts: () => ({ live: runner.liveCount + workspace.activeRuns(), queued: store.jobs.queuedCount() }),
    lastSeq: () => store.events.lastSeq(),
    audit(entry) {
      try {
        store.audit.append(clock.now().toISOString(), entry);
      } catch (error) {
        log.error('the audit cannot be written', { entry, error }); // the call's own answer says what is wrong
      }
    },
    async close(beforeJobs) {
      await workspace.close();
      await beforeJobs?.();
      await runner.close();
      await snapshotter.close();
      store.close();
    },
  };
}

/** The user's configuration, and everything in it that must never be shown. */
function openSettings(env: Environment) {
  const secrets = new Set<string>();
  let redactText = createRedactor([]);
  return {
    /** Read anew at every launch, and so are its secrets; an old one stays one, for a job may still have it. */
    readSettings(): UserConfig {
      const settings = readConfig(configPath(env));
      const news = secretsOf(env, settings).filter((secret) => !secrets.has(secret));
      for (const secret of news) secrets.add(secret);
      if (news.length > 0) redactText = createRedactor([...secrets]);
      return settings;
    },
    redact: <T>(value: T): T => redactDeep(redactText, value),
  };
}
