import type { z } from 'zod';
import type { Effect } from '../adapter.ts';
import { progress, warning } from '../adapter-effects.ts';
import { type Failure, failedTurn, retryNotice, toldFailure } from './failure.ts';
import { itemCompleted, itemStarted, said } from './item-events.ts';
import { LEFT_ALONE } from './known.ts';
import * as schema from './schema.ts';
import { type CodexState, settleMessages, subAgent } from './state.ts';
import { type Handler, on, step, usageEffect } from './step.ts';

const tellNote: Handler<CodexState> = on(schema.noted, (state, { message, summary, details }) => {
  if (LEFT_ALONE.test(message ?? summary ?? '')) return step(state, { do: 'routine' });
  const told = [message ?? summary, details].filter((part) => part != null);
  return step(state, warning(told.join(' ')));
});

/** The name of Reef's own server in the job. */
const OWN_SERVER = 'reef';

const turnStarted = on(schema.turnEvent, (state: CodexState, { threadId, turn }) => {
  if (subAgent(state, threadId) !== undefined) return step(state);
  return step({ ...state, turnId: turn.id, retries: 0 }, { do: 'turn', is: 'begun' });
});

const turnCompleted = on(schema.turnEvent, (state: CodexState, { threadId, turn }) => {
  if (subAgent(state, threadId) !== undefined) return step(state);
  const unfinished: Effect[] = state.streaming.map((id) => ({ do: 'text', kind: 'text', id, text: '', final: true }));
  const { state: settled, effects } = settleMessages(state, turn.id);
  const ended = { ...settled, turnId: null, endedTurnId: turn.id, streaming: [] };
  return step(ended, ...unfinished, ...effects, outcomeOf(state, turn));
});

function outcomeOf(state: CodexState, turn: z.infer<typeof schema.turnEvent>['turn']): Effect {
  if (turn.status === 'failed') {
    const error = turn.error ?? { message: 'the turn failed and Codex gave no reason' };
    return failedTurn(failureOf(error), state.resetsAt);
  }
  const result = turn.items?.findLast((item) => item.type === 'agentMessage')?.text ?? '';
  if (turn.status === 'completed') return { do: 'turn', is: 'over', outcome: 'done', result };
  if (turn.status === 'interrupted') return { do: 'turn', is: 'over', outcome: 'interrupted', result };
  return { do: 'turn', is: 'over', outcome: 'ended', result, stopReason: turn.status };
}

const failed = on(schema.errorEvent, (state: CodexState, { threadId, error, willRetry }) => {
  const failure = failureOf(error);
  if (!willRetry) return step(state, toldFailure(failure));
  const retries = subAgent(state, threadId) === undefined ? state.retries + 1 : state.retries;
  return step({ ...state, retries }, retryNotice(failure, error.additionalDetails ?? undefined, retries));
});

/** The kind is a word, or an object whose one key is the word and whose value may hold the HTTP status. */
function failureOf({ message, codexErrorInfo: info }: schema.TurnError): Failure {
  if (typeof info === 'string') return { message, kind: info, status: undefined };
  const [kind, details] = Object.entries(info ?? {})[0] ?? [];
  const status = (details as { httpStatusCode?: unknown } | null | undefined)?.httpStatusCode;
  return { message, kind, status: Number.isInteger(status) ? Number(status) : undefined };
}

const planUpdated = on(schema.planUpdate, (state: CodexState, { plan }) => {
  const entries = plan.map(({ step: text, status }) => ({ text, status }));
  return step(state, progress({ kind: 'plan', entries }));
});

/**
 * One update follows each answer of the model, even one that only calls tools, so answers are counted here. An update at
 * resume repeats the total of earlier turns and is no answer. A sub-agent's thread has a total of its own.
 */
const tokensUsed = on(schema.tokenUsage, (state: CodexState, { threadId, turnId, tokenUsage }) => {
  const { total, last } = tokenUsage;
  const isMain = subAgent(state, threadId) === undefined;
  const isGrown = total.totalTokens > (state.totals[threadId] ?? 0);
  const totals = { ...state.totals, [threadId]: total.totalTokens };
  const usage = isMain ? usageEffect(total, 'session') : usageEffect(last, 'more');
  const answer: Effect[] = isGrown && (!isMain || turnId === state.turnId) ? [{ do: 'answer' }] : [];
  return step({ ...state, totals }, ...(isMain || isGrown ? [usage] : []), ...answer);
});

const limitsUpdated = on(schema.rateLimits, (state: CodexState, { rateLimits }) => {
  const full = [rateLimits.primary, rateLimits.secondary].filter((window) => window && window.usedPercent >= 100);
  const resets = full.flatMap((window) => (window?.resetsAt == null ? [] : [window.resetsAt]));
  return step({ ...state, resetsAt: resets.length > 0 ? Math.max(...resets) : null });
});

/** After our answer: Codex has taken it. Without one: Codex no longer waits. */
const requestResolved = on(schema.requestResolved, (state: CodexState, { requestId: id }) => {
  const requestId = JSON.stringify(id);
  const { [requestId]: was, ...asked } = state.asked;
  if (was === undefined) return step(state);
  const rest = { ...state, asked };
  return step(rest, was === 'answered' ? { do: 'ack', requestId } : { do: 'withdraw', requestId, by: 'agent' });
});

const mcpStarted = on(schema.mcpStartup, (state: CodexState, { name, status, error }) => {
  const now = name === OWN_SERVER ? { ...state, isServerStarting: status === 'starting' } : state;
  if (status !== 'failed') return step(now);
  return step(now, warning(`the MCP server ${name} did not start${error == null ? '' : `: ${error}`}`));
});

const rerouted = on(schema.rerouted, (state: CodexState, { fromModel, toModel }) =>
  step(state, warning(`Codex answers with ${toModel} in place of ${fromModel}`)),
);

export const notifications: ReadonlyMap<string, Handler<CodexState>> = new Map([
  ['item/agentMessage/delta', on(schema.delta, said)],
  ['item/plan/delta', on(schema.delta, said)],
  ['item/started', on(schema.itemEvent, itemStarted)],
  ['item/completed', on(schema.itemEvent, itemCompleted)],
  ['turn/started', turnStarted],
  ['turn/completed', turnCompleted],
  ['turn/plan/updated', planUpdated],
  ['thread/tokenUsage/updated', tokensUsed],
  ['account/rateLimits/updated', limitsUpdated],
  ['serverRequest/resolved', requestResolved],
  ['error', failed],
  ['warning', tellNote],
  ['guardianWarning', tellNote],
  ['configWarning', tellNote],
  ['deprecationNotice', tellNote],
  ['mcpServer/startupStatus/updated', mcpStarted],
  ['model/rerouted', rerouted],
]);
