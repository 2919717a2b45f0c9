import { batch, computed, signal } from '@preact/signals';
import type { AgentEvent } from '../../../src/protocol/events.ts';
import type { JobView } from '../../../src/protocol/job-operations.ts';
import type { OperationOutput } from '../../../src/protocol/operations.ts';
import type { RunSummary } from '../../../src/protocol/run-operations.ts';
import type { WorktreeView } from '../../../src/protocol/worktrees.ts';
import { connection } from '../connection/connection.ts';
import { op } from '../connection/op.ts';
import { openCards, takeEnding, takeInbox } from '../questions/asked.ts';
import { refresher } from './refresher.ts';
import { tellEnd, tellQuestion } from './tell.ts';

/** What the home has now: every screen reads from these, and they follow the event stream. */
export const jobs = signal<readonly JobView[]>([]);
export const runs = signal<readonly RunSummary[]>([]);
export const worktrees = signal<readonly WorktreeView[]>([]);
/** News of worktrees that need no answer. */
export const notices = signal<OperationOutput<'inbox'>['notices']>([]);
/** When jobs were read last; until then nothing is known, which is not the same as nothing being there. */
export const readAt = signal<Date | undefined>(undefined);

export const openQuestions = computed(() => openCards.value.length);

const LOOK_MS = 150;
/** While agents only talk there is no hurry. */
const CALM_LOOK_MS = 1_000;

const readJobs = async () => {
  const { jobs: found } = await op('status', {});
  batch(() => {
    jobs.value = found;
    readAt.value = new Date();
  });
};

/** What was open before the page was is on the page, and need not be told. */
function inboxReader(): () => Promise<void> {
  let isFirst = true;
  return async () => {
    const found = await op('inbox', {});
    const fresh = takeInbox(found.questions);
    notices.value = found.notices;
    for (const { entry } of isFirst ? [] : fresh) tellQuestion(entry);
    isFirst = false;
  };
}
const readRuns = async () => {
  runs.value = (await op('runs', {})).runs;
};
const readWorktrees = async () => {
  worktrees.value = (await op('worktrees', {})).worktrees;
};

const lookAtJobs = refresher(readJobs, LOOK_MS);
const lookAtJobsCalmly = refresher(readJobs, CALM_LOOK_MS);
const lookAtQuestions = refresher(inboxReader(), LOOK_MS);
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
  takeEnding(event);
  if (concernsQuestions(event)) lookAtQuestions.soon();
  const isTalk = event.type === 'progress' || event.type === 'tool_call' || event.type === 'file_edit';
  const job = jobs.peek().find(({ id }) => id === event.agentId);
  if (isTalk && job) lookAtJobsCalmly.soon();
  else lookAtJobs.soon();
  if (event.type === 'completed' && event.payload.scope === 'process' && job) tellEnd(job, event.payload.outcome);
}

function concernsQuestions({ type, payload }: AgentEvent): boolean {
  if (type === 'progress') return payload.kind === 'withdrawn' || payload.kind === 'auto_answered';
  return type === 'needs_input' || type === 'input_sent' || type === 'completed' || type === 'error';
}
