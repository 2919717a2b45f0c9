import { join } from 'node:path';
import { freshRuntime, type JobRuntime } from '../../src/agents/job-runtime.ts';
import { type JobStorage, JobTransaction } from '../../src/agents/job-transaction.ts';
import type { OutboxDoc } from '../../src/agents/outbox.ts';
import { noUsage } from '../../src/agents/usage.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createRedactor, redactDeep } from '../../src/base/redact.ts';
import { EventLog } from '../../src/events/event-log.ts';
import type { EventBody } from '../../src/protocol/events.ts';
import type { Job, Question } from '../../src/protocol/jobs.ts';
import { GrantsFile } from '../../src/runtime/config/grants-file.ts';
import type { JobRecord } from '../../src/store/job-table.ts';
import { Store } from '../../src/store/store.ts';
import type { ManualClock } from './manual-clock.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** The one secret that `TestStorage` know of. */
export const CANARY = 'canary-7f3a9b-secret';

/** A root that runs for the first time; a test says what is special about its own. */
export const aJob = (id: string, more: Partial<Job> = {}): Job => ({
  id,
  agent: 'claude',
  mode: 'headless',
  task: 't',
  cwd: '/repo',
  rootId: id,
  depth: 0,
  launch: 1,
  status: 'running',
  keep: false,
  yes: false,
  sandbox: 'none',
  createdAt: '2026-01-01T00:00:00.000Z',
  usage: noUsage,
  turns: 0,
  workedMs: 0,
  budget: {},
  unknownMessages: 0,
  ...more,
});

export const aQuestion = (questionId: string, more: Partial<Question> = {}): Question => ({
  question: 'May I?',
  kind: 'permission',
  questionId,
  requestId: '0',
  fingerprint: 'f',
  multi: false,
  freeText: false,
  secret: false,
  path: ['A'],
  ...more,
});

export const says = (text: string): EventBody => ({ type: 'progress', payload: { kind: 'text', text } });
export const ends = (outcome: 'done' | 'killed' = 'done', result = ''): EventBody => ({
  type: 'completed',
  payload: { scope: 'process', outcome, result, usage: noUsage, durationMs: 1, derived: true },
});

/** The storage of a home in a folder of its own, which goes with the test. */
export class TestStorage<C extends Clock = ManualClock> implements JobStorage {
  readonly dir: string;
  readonly store: Store;
  readonly savedGrants: GrantsFile;
  readonly clock: C;
  readonly log: EventLog;

  constructor(clock: C, dir = temporaryFolder()) {
    this.dir = dir;
    this.store = new Store(join(dir, 'reef.db'));
    this.savedGrants = new GrantsFile(join(dir, 'grants.json'));
    const redact = createRedactor([CANARY]);
    this.clock = clock;
    this.log = new EventLog({ rows: this.store.events, clock, redact: (value) => redactDeep(redact, value) });
  }

  addJob(id: string, more: Partial<Job> = {}, runtime: Partial<JobRuntime> = {}): void {
    const record = { job: aJob(id, more), runtime: { ...freshRuntime(), ...runtime } };
    this.store.commit(() => this.store.jobs.insert(record));
  }

  record(id: string): JobRecord<JobRuntime> {
    const found = this.store.jobs.get<JobRuntime>(id);
    if (!found) throw new Error(`no job ${id}`);
    return found;
  }

  change<T>(id: string, act: (tx: JobTransaction) => T): T {
    return this.store.record(() => {
      const tx = new JobTransaction(this, this.record(id));
      const result = act(tx);
      tx.save();
      return result;
    });
  }

  tell(id: string, ...bodies: EventBody[]): void {
    this.change(id, (tx) => {
      for (const body of bodies) tx.emit(body);
    });
  }

  events(id: string): EventBody[] {
    const stored = this.store.events.ofJob({ jobId: id, after: 0, limit: 10_000 });
    return stored.map(({ type, payload }) => ({ type, payload }) as EventBody);
  }

  mail(id: string): OutboxDoc[] {
    return this.store.outbox.open<OutboxDoc>(id).map(({ doc }) => doc);
  }

  close(): void {
    this.store.close();
  }
}
