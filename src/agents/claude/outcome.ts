import { capJson } from '../../base/cap.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Exit, UsageReport } from '../adapter.ts';
import { LOGIN } from './command.ts';
import type { ResultLine } from './schema.ts';
import type { ClaudeState, Verdict } from './state.ts';

/** A result waits in the state until Claude is idle. */
const VERDICT_CAP = 16 * 1024;
const LOGIN_TROUBLES = new Set(['authentication_failed', 'oauth_org_not_allowed']);
const PASSING_TROUBLES = new Set(['overloaded', 'server_error', 'unknown']);

/** `is_error` and `terminal_reason` decide: `subtype: success` appears on failures too. */
export function verdictOf(line: ResultLine, trouble: ClaudeState['trouble']): Verdict {
  const reason = line.terminal_reason ?? null;
  const result = line.result ?? '';
  const isAborted = reason?.startsWith('aborted_') === true;
  if (line.is_error && !isAborted) return bounded(failure(line, trouble));
  if (isAborted) return bounded({ is: 'interrupted', result, stopReason: reason });
  if (reason === null || reason === 'completed')
    return bounded({ is: 'done', result, stopReason: line.stop_reason ?? null });
  return bounded({ is: 'ended', result, stopReason: reason });
}

function bounded(verdict: Verdict): Verdict {
  return capJson(verdict, VERDICT_CAP) as Verdict;
}

function failure(line: ResultLine, trouble: ClaudeState['trouble']): Verdict {
  const message = line.result ?? line.errors?.join('\n') ?? 'Claude reported a failure without a word about it';
  const status = line.api_error_status ?? trouble?.status ?? null;
  const code = troubleCode({ kind: trouble?.kind ?? '', status }, message);
  if (code === 'rate_limit') return { is: 'limit', message };
  const retryable = isPassing({ kind: trouble?.kind ?? '', status });
  return { is: 'failed', code, message: explain(code, message), retryable, status };
}

type Trouble = NonNullable<ClaudeState['trouble']>;

export function isPassing({ kind, status }: Trouble): boolean {
  return PASSING_TROUBLES.has(kind) || (status !== null && status >= 500);
}

export function troubleCode({ kind, status }: Trouble, message: string): ErrorCode {
  if (kind === 'rate_limit' || status === 429) return 'rate_limit';
  if (LOGIN_TROUBLES.has(kind) || status === 401) return 'agent_not_logged_in';
  return isUnknownSession(message) ? 'no_session' : 'agent_error';
}

function isUnknownSession(text: string): boolean {
  return text.includes('No conversation found with session ID');
}

/** Names the command that helps when the log-in is missing. */
export function explain(code: ErrorCode, message: string): string {
  return code === 'agent_not_logged_in' ? `${message}; to log in, ${LOGIN}` : message;
}

/**
 * Tokens since the last result, of all models and sub-agents; older versions report only the main conversation. A total of
 * 0 is left out: a failed start reports it, and it would look like a new session.
 */
export function usageOf(line: ResultLine, hadSubagents: boolean): UsageReport | undefined {
  const tokens = allTokens(line) ?? mainTokens(line);
  const usd = line.total_cost_usd ?? 0;
  const hasTokens = tokens !== undefined && Object.values(tokens).some((value) => value > 0);
  if (!hasTokens && usd === 0) return undefined;
  return {
    ...(hasTokens && { tokens: { ...tokens, scope: 'more' } }),
    ...(usd > 0 && { cost: { usd, scope: 'session' } }),
    partial: hadSubagents && line.model_usage_since_last_result === undefined,
  };
}

type Tokens = Omit<NonNullable<UsageReport['tokens']>, 'scope'>;

function allTokens({ model_usage_since_last_result: models }: ResultLine): Tokens | undefined {
  if (models === undefined) return undefined;
  const sum: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  for (const model of Object.values(models)) {
    sum.input += model.inputTokens;
    sum.output += model.outputTokens;
    sum.cacheRead += model.cacheReadInputTokens;
    sum.cacheWrite += model.cacheCreationInputTokens;
    sum.reasoning += model.thinkingTokens;
  }
  return sum;
}

function mainTokens({ usage }: ResultLine): Tokens | undefined {
  if (usage === undefined) return undefined;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.cache_read_input_tokens,
    cacheWrite: usage.cache_creation_input_tokens,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
  };
}

const NO_LOGIN = /not logged in|please run \/login|invalid api key/i;
const SESSION_IN_USE = /session id \S+ is already in use/i;

/** First a result after which Claude was never idle, then what it writes to stderr when it does not start. */
export function finish(state: ClaudeState, exit: Exit): { code: ErrorCode; message: string } | undefined {
  const { verdict } = state;
  if (verdict?.is === 'failed') return { code: verdict.code, message: verdict.message };
  if (verdict?.is === 'limit') return { code: 'rate_limit', message: verdict.message };
  if (exit.code === 0 || exit.signal !== null) return undefined;
  const lines = exit.stderrTail.split('\n').map((line) => line.trim());
  const code = lines.map(codeOf).find((known) => known !== undefined);
  const message = lines.find((line) => codeOf(line) === code) ?? '';
  return code === undefined ? undefined : { code, message: explain(code, message) };
}

function codeOf(line: string): ErrorCode | undefined {
  if (SESSION_IN_USE.test(line)) return 'session_in_use';
  if (isUnknownSession(line)) return 'no_session';
  return NO_LOGIN.test(line) ? 'agent_not_logged_in' : undefined;
}
