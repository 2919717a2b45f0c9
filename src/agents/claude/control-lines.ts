import { questionsOf } from './question.ts';
import { fitting, reader } from './reader.ts';
import { cancelLine, controlRequestLine, controlResponseLine, toolRequest } from './schema.ts';
import { type Draft, remember } from './state.ts';
import { interruptWait } from './turn.ts';

export const readControlRequest = reader('a request', controlRequestLine, (draft, { request_id, request }) => {
  if (request.subtype !== 'can_use_tool') {
    draft.effects.push({ do: 'unknown', name: `control_request/${request.subtype}` });
    refuse(draft, request_id, `Unsupported control request subtype: ${request.subtype}`);
    return;
  }
  const wish = fitting(draft, { what: 'a permission request', schema: toolRequest }, request);
  if (!wish) {
    refuse(draft, request_id, 'This request could not be read');
    return;
  }
  const { state, effects } = draft;
  const requestId = JSON.stringify(request_id);
  const toolUse = wish.tool_use_id ?? null;
  const plan = state.plan !== null && state.plan.id === toolUse ? state.plan.text : undefined;
  state.asked = remember(state.asked, { requestId, toolUse, isAnswered: false });
  effects.push({ do: 'ask', requestId, questions: questionsOf(wish, plan) });
});

/** Answered at once, so that Claude never waits for what nobody will answer. */
function refuse(draft: Draft, request_id: string | number, error: string): void {
  const line = JSON.stringify({ type: 'control_response', response: { subtype: 'error', request_id, error } });
  draft.effects.push({ do: 'write', line });
}

export const readCancel = reader('a withdrawal', cancelLine, (draft, { request_id }) => {
  const requestId = JSON.stringify(request_id);
  draft.state.asked = draft.state.asked.filter((asked) => asked.requestId !== requestId);
  draft.effects.push({ do: 'withdraw', requestId, by: 'agent' });
});

/** The only request Reef makes is to interrupt. */
export const readControlResponse = reader('a response', controlResponseLine, (draft, { response }) => {
  const { state, effects } = draft;
  const messageId = String(response.request_id);
  if (!state.interrupts.includes(messageId)) return;
  state.interrupts = state.interrupts.filter((interrupt) => interrupt !== messageId);
  effects.push({ do: 'ack', messageId });
  if (response.subtype === 'success') {
    interruptWait(draft);
    return;
  }
  const message = `Claude did not take the interrupt: ${response.error ?? response.subtype}`;
  effects.push({ do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } });
});
