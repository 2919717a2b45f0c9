import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { ChangeSignal } from '../../../src/events/change-signal.ts';
import { EventLog } from '../../../src/events/event-log.ts';
import type { HomeSource } from '../../../src/fleet/store/home-source.ts';
import type { InboxEntry, JobView } from '../../../src/protocol/job-operations.ts';
import type { Usage } from '../../../src/protocol/jobs.ts';
import { Store } from '../../../src/store/store.ts';

export interface TestHome extends HomeSource {
  store: Store;
  questionsNow: InboxEntry[];
  jobs: Map<string, JobView>;
  performed: { operation: string; input: Record<string, unknown>; by: string }[];
  /** What the next call does instead of being done. */
  failWith: Error | undefined;
  append(job: string, ...texts: string[]): void;
  /** Ten of these are ten rows of the fleet. */
  messages(job: string, count: number): void;
}

/** A home with a real database; what its daemon would say of jobs and questions is said by the test. */
export function testHome(folder: string, repository: string): TestHome {
  const store = new Store(join(folder, `${repository}.db`));
  const signal = new ChangeSignal();
  const log = new EventLog({ rows: store.events, clock: systemClock, redact: (value) => value });
  const home: TestHome = {
    repository,
    store,
    events: store.events,
    signal,
    questionsNow: [],
    jobs: new Map(),
    performed: [],
    failWith: undefined,
    job: async (id) => home.jobs.get(id),
    runOf: (id) => (id.startsWith('run:') ? id.slice(4) : undefined),
    questions: async () => home.questionsNow,
    async perform(operation, input, by) {
      if (home.failWith) throw home.failWith;
      home.performed.push({ operation, input: input as Record<string, unknown>, by });
      return { done: operation };
    },
    append(job, ...texts) {
      const drafts = texts.map((text) => ({ type: 'progress' as const, payload: { kind: 'text' as const, text } }));
      store.commit(() => log.append(job, drafts));
      signal.notify();
    },
    messages(job, count) {
      const drafts = Array.from({ length: count }, (_, n) => ({
        type: 'tool_call' as const,
        payload: { id: String(n), name: 'shell', kind: 'run' as const, input: { n } },
      }));
      store.commit(() => log.append(job, drafts as never));
      signal.notify();
    },
  };
  return home;
}

const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  costUsd: null,
  partial: false,
};

export function testJob(id: string, more: Partial<JobView> = {}): JobView {
  return {
    id,
    agent: 'claude',
    mode: 'headless',
    task: 'Fix the cart',
    cwd: '/w',
    rootId: id,
    depth: 0,
    launch: 1,
    status: 'running',
    keep: false,
    yes: false,
    sandbox: 'none',
    createdAt: new Date(0).toISOString(),
    usage: NO_USAGE,
    turns: 0,
    workedMs: 0,
    budget: {},
    unknownMessages: 0,
    awaiting_input: false,
    activity: 'working',
    questions: [],
    lastOutput: '',
    ...more,
  } as JobView;
}

export function testQuestion(jobId: string, more: Partial<InboxEntry> = {}): InboxEntry {
  return {
    questionId: 'q1',
    requestId: 'q1',
    question: 'May I?',
    options: [],
    kind: 'choice',
    fingerprint: 'f1',
    path: [jobId],
    jobId,
    agent: 'claude',
    task: 'Fix the cart',
    cwd: '/w',
    askedAt: new Date(1_000).toISOString(),
    ...more,
  } as InboxEntry;
}
