import { defined } from '../../base/defined.ts';
import type { Effect } from '../adapter.ts';
import type { Draft, Verdict } from './state.ts';

/** Claude works, because it was asked or because a background task of its own has ended. */
export function work(draft: Draft): void {
  const { state, effects } = draft;
  state.isBusy = true;
  state.willWake = false;
  if (state.isTurnOpen) return;
  state.isTurnOpen = true;
  state.verdict = null;
  state.trouble = null;
  effects.push({ do: 'turn', is: 'begun' });
}

/** Claude rests. The turn is over unless Claude goes on by itself when a background task ends. */
export function rest(draft: Draft): void {
  const { state } = draft;
  state.isBusy = false;
  if (state.isTurnOpen) state.verdict ??= { is: 'ended', result: '', stopReason: null };
  settle(draft);
}

/** Closes the turn when Claude rests, has a verdict, and waits for no background task. */
export function settle(draft: Draft): void {
  const { isTurnOpen, isBusy, verdict, tasks, willWake } = draft.state;
  if (!isTurnOpen || isBusy || verdict === null) return;
  const mayGoOn = verdict.is === 'done' || verdict.is === 'ended';
  if (mayGoOn && (tasks.length > 0 || willWake)) return;
  close(draft, verdict);
}

/** Interrupted while it only waits for a background task, Claude acknowledges and says nothing more. */
export function interruptWait(draft: Draft): void {
  const { isTurnOpen, isBusy, verdict } = draft.state;
  if (!isTurnOpen || isBusy) return;
  const result = verdict !== null && 'result' in verdict ? verdict.result : '';
  close(draft, { is: 'interrupted', result, stopReason: 'interrupted' });
}

export function close(draft: Draft, verdict: Verdict): void {
  const { state, effects } = draft;
  ackAnswers(draft);
  effects.push(ending(verdict, state.resumeAt));
  state.isTurnOpen = false;
  state.willWake = false;
  state.verdict = null;
  state.trouble = null;
  state.asked = [];
  state.plan = null;
}

function ending(verdict: Verdict, resumeAt: string | null): Effect {
  if (verdict.is === 'limit') {
    return { do: 'limit', message: verdict.message, ...defined({ resumeAt }) };
  }
  if (verdict.is === 'failed') {
    const { code, message, retryable, status } = verdict;
    return { do: 'turn', is: 'failed', code, message, retryable, ...defined({ status }) };
  }
  const { is: outcome, result, stopReason } = verdict;
  return { do: 'turn', is: 'over', outcome, result, ...defined({ stopReason }) };
}

/** Claude went on after a question, so it took every answer it was given. */
export function ackAnswers({ state, effects }: Draft): void {
  for (const { requestId, isAnswered } of state.asked) if (isAnswered) effects.push({ do: 'ack', requestId });
  state.asked = state.asked.filter((asked) => !asked.isAnswered);
}
