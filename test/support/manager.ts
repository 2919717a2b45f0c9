import { join } from 'node:path';
import { JobManager, type ManagerDeps } from '../../src/agents/job-manager.ts';
import { JobRunner } from '../../src/agents/job-runner.ts';
import { AdapterRegistry } from '../../src/agents/registry.ts';
import { GuardedFolders } from '../../src/agents/sandbox.ts';
import { defaultTimings } from '../../src/agents/timings.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createIds } from '../../src/base/ids.ts';
import { createLogger } from '../../src/base/log.ts';
import { ChangeSignal } from '../../src/events/change-signal.ts';
import type { TestStorage } from './job-storage.ts';
import { noCapabilities } from './no-capabilities.ts';

/** What the manager does by itself: no slot at all, so no process. `logged` has a line for each thing logged. */
export function managerOf(storage: TestStorage<Clock>, more: Pick<ManagerDeps, 'endRuns'> = {}) {
  const clock = systemClock;
  const logged: string[] = [];
  const shared = {
    storage,
    registry: new AdapterRegistry(() => ({})),
    capabilities: noCapabilities,
    timings: { ...defaultTimings, acknowledge: 1 },
    signal: new ChangeSignal(),
    log: createLogger({ write: (line) => void logged.push(line), clock, redact: (text) => text }),
  };
  const runner = new JobRunner({
    ...shared,
    clock,
    guards: new GuardedFolders(storage.store),
    env: {},
    homeDir: storage.dir,
    sockets: join(storage.dir, 'run'),
    version: '0',
    jobSockets: { open: async () => undefined, close: async () => undefined },
    git: { lend: async () => [], settle: async () => undefined },
    sandboxSettings: () => ({ read: [], write: [], hosts: [] }),
    maxJobs: () => 0,
    folderOf: () => undefined,
    passEnv: () => [],
    projectFilesOf: async () => ({ roots: [], withheld: [], instructions: [] }),
    onChange: () => undefined,
  });
  const manager = new JobManager({
    ...shared,
    runner,
    newId: createIds(clock),
    defaultCwd: join(storage.dir, 'repo'),
    searchPath: join(storage.dir, 'bin'),
    sandboxMode: () => 'auto',
    ...more,
  });
  return { manager, runner, logged };
}
