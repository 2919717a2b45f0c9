import type { EventBody } from '../protocol/events.ts';
import type { Job, JobStatus, PauseReason } from '../protocol/jobs.ts';

/** What the events of a job say about it so far. `open` are the ids of its open questions. */
export interface StatusState {
  status: JobStatus;
  reason?: Job['reason'];
  open: string[];
}

const LIVE: readonly JobStatus[] = ['queued', 'running', 'awaiting_input', 'paused'];

export function isLive(status: JobStatus): boolean {
  return LIVE.includes(status);
}

/** A job's status is the fold of its events and nothing else: replaying the log gives the same answer. */
export function foldStatus(state: StatusState, event: EventBody, job: { keep: boolean }): StatusState {
  return isRow(state.status, event) ? nextStatus(state, event, job) : state;
}

/** Whether the event can change a job with this status at all. */
function isRow(status: JobStatus, event: EventBody): boolean {
  if (event.type === 'progress' && event.payload.kind === 'queued') {
    return status === 'paused' || (!isLive(status) && status !== 'killed');
  }
  if (status !== 'queued') return isLive(status) && event.type !== 'started';
  const isEnd = (event.type === 'completed' || event.type === 'error') && event.payload.scope === 'process';
  return isEnd || event.type === 'started';
}

function nextStatus(state: StatusState, event: EventBody, job: { keep: boolean }): StatusState {
  switch (event.type) {
    case 'started':
      return { status: 'running', open: [] };
    case 'needs_input':
      return { status: 'awaiting_input', open: [...state.open, event.payload.questionId] };
    case 'input_sent':
      return event.payload.questionId === undefined ? wake(state) : settle(state, event.payload.questionId);
    case 'progress':
      return afterProgress(state, event.payload);
    case 'completed':
      return event.payload.scope === 'turn'
        ? afterTurn(state, event.payload.outcome, job)
        : afterProcess(state, event.payload.outcome);
    case 'error':
      return afterError(state, event.payload, job);
    case 'tool_call':
    case 'file_edit':
      return state;
  }
}

function afterProgress(state: StatusState, payload: Extract<EventBody, { type: 'progress' }>['payload']): StatusState {
  if (payload.kind === 'queued') return { status: 'queued', open: [] };
  if (payload.kind === 'withdrawn' || payload.kind === 'auto_answered') return settle(state, payload.questionId);
  if (payload.kind === 'rate_limit' || payload.kind === 'outage') return paused(payload.kind);
  if (payload.kind === 'turn' && state.reason === 'idle') return wake(state);
  return state;
}

function afterTurn(state: StatusState, outcome: string, job: { keep: boolean }): StatusState {
  if (outcome === 'interrupted') return state.status === 'paused' ? state : paused('interrupted');
  return job.keep && state.status === 'running' ? paused('idle') : state;
}

function afterError(
  state: StatusState,
  error: { scope: string; fatal: boolean; code: string },
  job: { keep: boolean },
): StatusState {
  if (error.scope === 'process' && error.fatal) {
    return error.code === 'exit_unknown'
      ? { status: 'stale', reason: 'exit_unknown', open: [] }
      : ended('error', error.code);
  }
  return error.scope === 'turn' && job.keep && state.status === 'running' ? paused('turn_failed') : state;
}

function afterProcess(state: StatusState, outcome: string): StatusState {
  if (outcome === 'killed') return ended('killed');
  const staysPaused = outcome === 'ended' && state.status === 'paused' && state.reason !== 'idle';
  return staysPaused ? state : ended('completed');
}

/** Closes an answered or withdrawn question. With the last one a waiting agent goes on. */
function settle(state: StatusState, questionId: string): StatusState {
  const open = state.open.filter((id) => id !== questionId);
  const goesOn = state.status === 'awaiting_input' && open.length === 0;
  return goesOn ? { status: 'running', open } : { ...state, open };
}

function wake(state: StatusState): StatusState {
  return state.status === 'paused' ? { status: 'running', open: state.open } : state;
}

function paused(reason: PauseReason): StatusState {
  return { status: 'paused', reason, open: [] };
}

function ended(status: 'completed' | 'error' | 'killed', code?: string): StatusState {
  return code === 'budget_exhausted' ? { status, reason: code, open: [] } : { status, open: [] };
}
