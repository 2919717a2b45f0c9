import { defined } from '../../base/defined.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Effect } from '../adapter.ts';
import { progress, warning } from '../adapter-effects.ts';
import { providerMessage, resumeTime } from '../provider-answer.ts';
import { LOGIN } from './command.ts';

const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;

/** What a failure of Codex says, whichever way it came. `kind` is `codexErrorInfo`, where there is one. */
export interface Failure {
  message: string;
  kind: string | undefined;
  status: number | undefined;
}

const LIMITS = ['usageLimitExceeded', 'rateLimitExceeded'];
const PASSING = [
  'serverOverloaded',
  'internalServerError',
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
];

function isLimit({ kind, status }: Failure): boolean {
  return status === TOO_MANY_REQUESTS || (kind !== undefined && LIMITS.includes(kind));
}

/** How a failed turn ends: at the provider's limit the job can go on later, else it failed. */
export function failedTurn(failure: Failure, resetsAt: number | null): Effect {
  const message = providerMessage(failure.message);
  if (isLimit(failure)) return { do: 'limit', message, ...defined({ resumeAt: resumeTime(resetsAt) }) };
  const { code, advice } = codeOf(failure);
  const retryable = failure.kind !== undefined && PASSING.includes(failure.kind) && code === 'agent_error';
  const status = defined({ status: failure.status });
  return { do: 'turn', is: 'failed', code, message: message + advice, retryable, ...status };
}

/** A failure that only warns: the end of the turn repeats it and decides. */
export const toldFailure = ({ message }: Failure): Effect => warning(providerMessage(message));

const RECONNECTING = /^Reconnecting\.{3}(?: (\d{1,6})\/(\d{1,6}))?(?: \((.*)\))?/s;

/** `count` is the number of retries of this turn, for notices without a number of their own. */
export function retryNotice({ message, status }: Failure, details: string | undefined, count: number): Effect {
  const [, attempt, max, cause] = RECONNECTING.exec(message) ?? [];
  const numbers = attempt === undefined ? { attempt: count } : { attempt: Number(attempt), max: Number(max) };
  const told = providerMessage(details ?? cause ?? message);
  return progress({ kind: 'retry', ...numbers, ...defined({ status }), message: told });
}

export const isRetryNotice = (message: string) => RECONNECTING.test(message);

/** A provider of the user's own reads its key from a variable; the message names it. */
const NO_KEY = /^Missing environment variable: /;

function codeOf({ kind, status, message }: Failure): { code: ErrorCode; advice: string } {
  if (kind === 'unauthorized' || status === UNAUTHORIZED || NO_KEY.test(message)) {
    return { code: 'agent_not_logged_in', advice: ` (log in with \`${LOGIN}\`)` };
  }
  return { code: kind === 'sandboxError' ? 'agent_sandbox_broken' : 'agent_error', advice: '' };
}
