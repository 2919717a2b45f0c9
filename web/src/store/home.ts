import { batch, computed, signal } from '@preact/signals';
import type { AgentEvent } from '../../../src/protocol/events.ts';
import type { InboxEntry, JobView } from '../../../src/protocol/job-operations.ts';
import type { RunSummary } from '../../../src/protocol/run-operations.ts';
import type { WorktreeView } from '../../../src/protocol/worktrees.ts';
import { connection } from '../connection/connection.ts';
import { op } from '../connection/op.ts';
import { refresher } from './refresher.ts';

/** What the home has now: every screen reads from these, and they follow the event stream. */
export const jobs = signal<readonly JobView[]>([]);
export const runs = signal<readonly RunSummary[]>([]);
export const worktrees = signal<readonly WorktreeView[]>([]);
export const questions = signal<readonly InboxEntry[]>([]);
/** When all of it was read last; until then nothing is known, which is not the same as nothing being there. */
export const readAt = signal<Date | undefined>(undefined);

export const openQuestions = computed(() => questions.value.length);

/** The last line an agent said, ahead of the next look at its job. */
export const lastLines = signal<ReadonlyMap<string, string>>(new Map());

const LOOK_MS = 150;
/** While agents only talk there is no hurry. */
const CALM_LOOK_MS = 1_000;

const readJobs = async () => {
  const { jobs: found } = await op('status', {});
  batch(() => {
    jobs.value = found;
    lastLines.value = new Map();
    readAt.value = new Date();
  });
};
const readQuestions = async () => {
  questions.value = (await op('inbox', {})).questions;
};
const readRuns = async () => {
  runs.value = (await op('runs', {})).runs;
};
const readWorktrees = async () => {
  worktrees.value = (await op('worktrees', {})).worktrees;
};

const lookAtJobs = refresher(readJobs, LOOK_MS);
const lookAtJobsCalmly = refresher(readJobs, CALM_LOOK_MS);
const lookAtQuestions = refresher(readQuestions, LOOK_MS);
const lookAtRuns = refresher(readRuns, LOOK_MS);
const lookAtWorktrees = refresher(readWorktrees, CALM_LOOK_MS);

export function startHome(): void {
  connection.onLive(() => {
    for (const look of [lookAtJobs, lookAtQuestions, lookAtRuns, lookAtWorktrees]) look.now();
  });
  connection.onChange(({ kind }) => {
    if (kind === 'inbox') lookAtQuestions.soon();
    if (kind === 'run') lookAtRuns.soon();
    if (kind === 'worktree') lookAtWorktrees.soon();
    if (kind === 'job') lookAtJobs.soon();
  });
  connection.onEvent(take);
}

function take(event: AgentEvent): void {
  const isTalk = event.type === 'progress' || event.type === 'tool_call' || event.type === 'file_edit';
  if (isTalk) takeTalk(event);
  else lookAtJobs.soon();
  if (event.type === 'needs_input' || event.type === 'input_sent' || event.type === 'completed') lookAtQuestions.soon();
}

function takeTalk(event: AgentEvent): void {
  if (event.type === 'progress' && event.payload.kind === 'withdrawn') lookAtQuestions.soon();
  if (jobs.peek().some(({ id }) => id === event.agentId)) lookAtJobsCalmly.soon();
  else lookAtJobs.soon();
}
