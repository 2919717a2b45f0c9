import type { InboxEntry, JobView } from '../../../src/protocol/job-operations.ts';
import type { Question } from '../../../src/protocol/jobs.ts';
import type { LoggedEvent } from '../../../src/surfaces/render/timeline.ts';

/** Whole objects for tests, of which a test names only what it is about. */
export const JOB_ID = '01KA1B2C3D4E5F6G7H8J9KAMNP';
export const NOW = new Date('2026-03-01T12:10:00.000Z');

export function sampleJob(changes: Partial<JobView> = {}): JobView {
  return {
    id: JOB_ID,
    agent: 'claude',
    mode: 'headless',
    task: 'set up the database',
    cwd: '/repo',
    rootId: JOB_ID,
    depth: 0,
    launch: 1,
    status: 'running',
    keep: false,
    yes: false,
    sandbox: 'bubblewrap',
    createdAt: '2026-03-01T12:00:00.000Z',
    startedAt: '2026-03-01T12:00:01.000Z',
    usage: { input: 1200, output: 300, cacheRead: 0, cacheWrite: 0, reasoning: 0, costUsd: 0.0421, partial: false },
    turns: 3,
    workedMs: 65_000,
    budget: {},
    unknownMessages: 0,
    awaiting_input: false,
    activity: 'working',
    questions: [],
    lastOutput: 'reading files',
    ...changes,
  };
}

export function sampleQuestion(changes: Partial<Question> = {}): Question {
  return {
    question: 'Allow Bash?',
    kind: 'permission',
    questionId: '0#0',
    requestId: '0',
    fingerprint: '3fa9c2d1e0b7a6958473625140fedcba9876543210abcdef3fa9c2d1e0b7a695',
    multi: false,
    freeText: false,
    secret: false,
    tool: 'Bash',
    input: { command: 'rm -rf build\n&& npm test' },
    path: [JOB_ID],
    ...changes,
  };
}

export function sampleChoice(changes: Partial<Question> = {}): Question {
  const { tool, input, ...base } = sampleQuestion();
  return {
    ...base,
    kind: 'choice',
    question: 'Which database?',
    options: ['SQLite', 'Postgres'],
    choices: [
      { id: 'a', label: 'SQLite', description: 'one file' },
      { id: 'b', label: 'Postgres' },
    ],
    ...changes,
  };
}

export function sampleEntry(question: Question = sampleQuestion(), changes: Partial<InboxEntry> = {}): InboxEntry {
  const { id: jobId, agent, task, cwd } = sampleJob();
  return { ...question, jobId, agent, task, cwd, askedAt: '2026-03-01T12:09:30.000Z', ...changes };
}

export function sampleEvent(
  type: LoggedEvent['type'],
  payload: Record<string, unknown>,
  changes: Partial<LoggedEvent> = {},
): LoggedEvent {
  return { seq: 1, timestamp: '2026-03-01T12:00:01.000Z', agentId: JOB_ID, type, payload, ...changes };
}
