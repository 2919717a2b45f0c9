import { join } from 'node:path';
import { GuardedFolders } from '../src/agents/guarded-folders.ts';
import { JobManager, type ManagerParts } from '../src/agents/job-manager.ts';
import { JobRunner } from '../src/agents/job-runner.ts';
import { AdapterRegistry } from '../src/agents/registry.ts';
import { defaultTimings } from '../src/agents/timings.ts';
import { type Clock, systemClock } from '../src/base/clock.ts';
import { createIds } from '../src/base/ids.ts';
import { createLogger } from '../src/base/log.ts';
import { ChangeSignal } from '../src/events/change-signal.ts';
import type { TestBooks } from './books.ts';
import { noCapabilities } from './no-capabilities.ts';

/** What the manager does by itself: no slot at all, so no process. `logged` has a line for each thing logged. */
export function managerOf(books: TestBooks<Clock>, more: Pick<ManagerParts, 'endRuns'> = {}) {
  const clock = systemClock;
  const logged: string[] = [];
  const shared = {
    books,
    registry: new AdapterRegistry(() => ({})),
    capabilities: noCapabilities,
    timings: { ...defaultTimings, acknowledge: 1 },
    signal: new ChangeSignal(),
    log: createLogger({ write: (line) => void logged.push(line), clock, redact: (text) => text }),
  };
  const runner = new JobRunner({
    ...shared,
    clock,
    guards: new GuardedFolders(books.store),
    env: {},
    homeDir: books.dir,
    version: '0',
    doors: { open: async () => undefined, close: async () => undefined },
    maxJobs: () => 0,
    folderOf: () => undefined,
    onChange: () => undefined,
  });
  const manager = new JobManager({
    ...shared,
    runner,
    newId: createIds(clock),
    defaultCwd: join(books.dir, 'repo'),
    searchPath: join(books.dir, 'bin'),
    ...more,
  });
  return { manager, runner, logged };
}
