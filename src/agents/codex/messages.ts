import type { Effect } from '../adapter.ts';
import type { CodexState, MessageCall } from './state.ts';
import { type Step, step, warning } from './step.ts';

/**
 * A turn that a message began has taken it, even if it never showed it. What was steered into it and not shown by its
 * end is lost: an interrupted Codex drops it (tried with 0.166.0).
 */
export function settleMessages(state: CodexState, endedTurnId: string): Step<CodexState> {
  const isOfTurn = (call: CodexState['calls'][number]): call is MessageCall =>
    call.for === 'message' && call.turnId === endedTurnId;
  const effects = state.calls.filter(isOfTurn).map((call): Effect => {
    if (!call.isSteer) return { do: 'ack', messageId: call.messageId };
    return warning('a message was still waiting when its turn ended, and Codex dropped it');
  });
  return step({ ...state, calls: state.calls.filter((call) => !isOfTurn(call)) }, ...effects);
}
