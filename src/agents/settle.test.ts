import { afterEach, beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { managerOf } from '../../test/support/manager.ts';
import { verifies } from '../../test/support/verifies.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Job } from '../protocol/jobs.ts';
import { STUCK_PARENT_EXIT } from './native-agents.ts';

let storage: TestStorage<Clock>;
beforeEach(() => {
  storage = new TestStorage(systemClock);
});
afterEach(() => storage.close());

const [TOP, MIDDLE, LOW] = ['01JOB0000000000000000000TP', '01JOB0000000000000000000MD', '01JOB0000000000000000000LW'];
const statuses = () => [TOP, MIDDLE, LOW].map((id) => storage.record(id).job.status);

/** Three generations, the last of which has ended by itself. */
function family(agents: [string, string, string], low: Partial<Job>, middle: Partial<Job> = {}): void {
  const [top, between, last] = agents;
  storage.addJob(TOP, { agent: top });
  storage.addJob(MIDDLE, { agent: between, parentId: TOP, rootId: TOP, depth: 1, ...middle });
  storage.addJob(LOW, { agent: last, parentId: MIDDLE, rootId: TOP, depth: 2, status: 'error', ...low });
}

verifies('R-08').test('a host that let go of no child in time ends whole', async () => {
  family(['native:boss', 'native:lead', 'native:hand'], { exitCode: STUCK_PARENT_EXIT });
  await managerOf(storage).manager.settle(LOW);
  expect(statuses()).toEqual(['killed', 'killed', 'error']);
});

for (const [agents, after] of [
  [
    ['native:boss', 'native:lead', 'scripted:x'],
    ['running', 'running', 'error'],
  ],
  [
    ['native:boss', 'native:lead', 'native:coder'],
    ['running', 'running', 'error'],
  ],
  [
    ['native:coder', 'native:lead', 'native:hand'],
    ['running', 'killed', 'error'],
  ],
] as const) {
  verifies('R-08').test(`the end of ${agents[2]} below ${agents[0]} says nothing of who is no host of it`, async () => {
    family([...agents], { exitCode: STUCK_PARENT_EXIT });
    await managerOf(storage).manager.settle(LOW);
    expect(statuses()).toEqual(after);
  });
}

verifies('R-08').test('what is below a job that failed ends, also when its runs cannot be ended', async () => {
  family(['native:boss', 'native:lead', 'native:hand'], { status: 'running' }, { status: 'error' });
  const { manager, logged } = managerOf(storage, { endRuns: () => Promise.reject(new Error('a run stays')) });
  await manager.endOrphans();
  expect(statuses()).toEqual(['running', 'error', 'killed']);
  expect(logged.join()).toContain('a run stays');
});

verifies('R-08').test('a job that cannot be looked up is logged, and no failure of the caller', async () => {
  const broken = new TestStorage(systemClock);
  const { manager, logged } = managerOf(broken);
  broken.close();
  await manager.settle(LOW);
  await manager.endOrphans();
  const [look, end] = ['paused jobs could not be looked at', 'what a job left could not be ended'];
  expect(logged.map((line) => JSON.parse(line).message)).toEqual([look, end, end, look, end]);
});
