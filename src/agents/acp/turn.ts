import { defined } from '../../base/defined.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Effect, Json, UsageReport } from '../adapter.ts';
import { providerMessage } from '../provider-answer.ts';
import { type PromptResult, promptResultSchema, type RpcError, type RpcResponse } from './messages.ts';
import { acknowledgeAnswers, type Draft, endMessage, takePrompt } from './state.ts';
import { forgetTools } from './tools.ts';

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
  d.state = { ...d.state, prompt: null, interrupts: [], open: [], isAnswering: false, answers: 0, result: '' };
}

function outcome(d: Draft, { result, error }: RpcResponse): Effect[] {
  // Some agents answer a cancelled prompt with the error that the cancel caused in them.
  if (error && d.state.interrupts.length > 0) return [over(d, 'cancelled')];
  if (error) return [failure(error, d.login)];
  const parsed = promptResultSchema.safeParse(result);
  if (!parsed.success) {
    const message = 'the response to session/prompt has no stopReason';
    return [{ do: 'turn', is: 'failed', code: 'bad_line', message, retryable: false }];
  }
  return [{ do: 'usage', report: turnUsage(d, parsed.data) }, over(d, parsed.data.stopReason)];
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

export const AUTH_REQUIRED = -32000;
const NOT_LOGGED_IN =
  /\b(unauthori[sz]ed|unauthenticated|authentication required|invalid (x-)?api[- ]key|not logged in)\b/i;

interface Failure {
  code: Extract<ErrorCode, 'agent_not_logged_in' | 'rate_limit' | 'agent_error'>;
  message: string;
  status?: number;
  retryable: boolean;
}

/** Agents hide the provider's answer in four ways: as the code, as JSON in the message, in `data`, or only in words. */
export function describeFailure(error: RpcError): Failure {
  const words = [field(error.data, 'message'), field(error.data, 'details'), error.message].map(providerMessage);
  const message = words.map((text) => text.replace(/^Internal error(: )?/, '')).find(Boolean) ?? `error ${error.code}`;
  const status = httpStatus(error, message);
  const facts = { message, ...defined({ status }) };
  if (status === 429) return { ...facts, code: 'rate_limit', retryable: true };
  if (error.code === AUTH_REQUIRED || status === 401 || NOT_LOGGED_IN.test(message)) {
    return { ...facts, code: 'agent_not_logged_in', retryable: false };
  }
  return { ...facts, code: 'agent_error', retryable: status !== undefined && status >= 500 };
}

function field(value: Json | undefined, name: string): string {
  const found = typeof value === 'object' && value !== null && !Array.isArray(value) ? value[name] : undefined;
  return typeof found === 'string' ? found : '';
}

function httpStatus({ code, data }: RpcError, message: string): number | undefined {
  if (code >= 400 && code < 600) return code;
  const told =
    /"http_status_code":(\d{3})\b/.exec(JSON.stringify(data ?? null)) ?? /\bstatus:? (\d{3})\b/.exec(message);
  return told ? Number(told[1]) : undefined;
}

/** `result.usage` is the whole turn for some agents and its last request for others. These two were tried. */
const reportsWholeTurn = (agent: string) => agent.endsWith('claude-agent-acp') || agent === 'gemini-cli';

/** One request out of several stands for all of them: the last is the longest. */
function turnUsage(d: Draft, { usage, _meta }: PromptResult): UsageReport {
  const isWhole = reportsWholeTurn(d.state.agent.name);
  const answers = Math.max(1, d.state.answers);
  const times = isWhole ? 1 : answers;
  const quota = _meta?.quota?.token_count;
  const input = usage ? usage.inputTokens : quota?.input_tokens;
  const output = usage ? usage.outputTokens : quota?.output_tokens;
  // A cancelled request of opencode is told as 0: what was reckoned stays.
  if ((input ?? 0) + (output ?? 0) === 0) return { partial: true };
  const tokens = {
    cacheRead: times * (usage?.cachedReadTokens ?? 0),
    cacheWrite: times * (usage?.cachedWriteTokens ?? 0),
    reasoning: times * (usage?.thoughtTokens ?? 0),
    scope: 'more',
    input: times * (input ?? 0),
    output: times * (output ?? 0),
  } as const;
  d.state.perAnswer = Math.ceil((tokens.input + tokens.output) / answers);
  return { tokens, partial: !isWhole };
}

/** Agents report money as the total of the session. */
export function costReport(agent: string, usd: number): UsageReport {
  return { cost: { usd, scope: 'session' }, partial: !reportsWholeTurn(agent) };
}
