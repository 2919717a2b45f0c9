import type { Effect } from '../adapter.ts';
import { acknowledgeAnswers, takePrompt } from './acknowledge.ts';
import { describeFailure } from './failure.ts';
import { endMessage } from './message.ts';
import { promptResultSchema, type RpcError, type RpcResponse } from './messages.ts';
import type { Draft } from './state.ts';
import { forgetTools } from './tools.ts';
import { turnUsage } from './usage.ts';

/** The response to `session/prompt` is the end of the turn, whatever it says. */
export function onPromptEnd(d: Draft, response: RpcResponse): void {
  takePrompt(d);
  endMessage(d);
  acknowledgeAnswers(d, () => true);
  for (const messageId of d.state.interrupts) d.out.push({ do: 'ack', messageId });
  for (const { requestId, isCancelled } of d.state.open) {
    d.out.push({ do: 'withdraw', requestId, by: isCancelled ? 'interrupt' : 'turn' });
  }
  d.out.push(...outcome(d, response));
  forgetTools(d, Object.keys(d.state.tools));
  d.state = { ...d.state, prompt: null, interrupts: [], open: [], isAnswering: false, result: '' };
}

function outcome(d: Draft, { result, error }: RpcResponse): Effect[] {
  // Some agents answer a cancelled prompt with the error that the cancelling caused in them.
  if (error && d.state.interrupts.length > 0) return [over(d, 'cancelled')];
  if (error) return [failure(error, d.login)];
  const parsed = promptResultSchema.safeParse(result);
  if (!parsed.success) {
    const message = 'the response to session/prompt has no stopReason';
    return [{ do: 'turn', is: 'failed', code: 'bad_line', message, retryable: false }];
  }
  return [{ do: 'usage', report: turnUsage(d.state.agent.name, parsed.data) }, over(d, parsed.data.stopReason)];
}

function over(d: Draft, stopReason: string): Effect {
  const outcome = stopReason === 'end_turn' ? 'done' : stopReason === 'cancelled' ? 'interrupted' : 'ended';
  return { do: 'turn', is: 'over', outcome, result: d.state.result.toWellFormed(), stopReason };
}

/** A turn that did not end well. A limit is no failure: the job pauses and can go on later. */
export function failure(error: RpcError, login: string): Effect {
  const { code, message, ...more } = describeFailure(error);
  if (code === 'rate_limit') return { do: 'limit', message };
  const advice = code === 'agent_not_logged_in' ? `${message.replace(/\.$/, '')}. To log in: ${login}` : message;
  return { do: 'turn', is: 'failed', code, message: advice, ...more };
}
