import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Effect } from '../adapter.ts';
import { LOGIN } from './command.ts';
import { warning } from './step.ts';

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
  const message = plainMessage(failure.message);
  if (isLimit(failure)) return { do: 'limit', message, ...resumption(resetsAt) };
  const { code, advice } = codeOf(failure);
  const retryable = failure.kind !== undefined && PASSING.includes(failure.kind) && code === 'agent_error';
  const status = failure.status === undefined ? {} : { status: failure.status };
  return { do: 'turn', is: 'failed', code, message: message + advice, retryable, ...status };
}

/** A moment no calendar has is no moment. */
function resumption(seconds: number | null): { resumeAt?: string } {
  const at = new Date((seconds ?? Number.NaN) * 1000);
  return Number.isNaN(at.getTime()) ? {} : { resumeAt: at.toISOString() };
}

/** A failure that is told but decides nothing: the end of the turn does, and repeats it. */
export const toldFailure = ({ message }: Failure): Effect => warning(plainMessage(message));

const RECONNECTING = /^Reconnecting\.{3}(?: (\d{1,6})\/(\d{1,6}))?(?: \((.*)\))?/s;

/** `count`: retries of this turn so far, for notices that do not number themselves. */
export function retryNotice({ message, status }: Failure, details: string | undefined, count: number): Effect {
  const [, attempt, max, cause] = RECONNECTING.exec(message) ?? [];
  const numbers = attempt === undefined ? { attempt: count } : { attempt: Number(attempt), max: Number(max) };
  const told = plainMessage(details ?? cause ?? message);
  const payload = { kind: 'retry' as const, ...numbers, ...(status === undefined ? {} : { status }), message: told };
  return { do: 'emit', event: { type: 'progress', payload } };
}

export const isRetryNotice = (message: string) => RECONNECTING.test(message);

/** A provider of the user's own takes its key from a variable, which is named. */
const NO_KEY = /^Missing environment variable: /;

function codeOf({ kind, status, message }: Failure): { code: ErrorCode; advice: string } {
  if (kind === 'unauthorized' || status === UNAUTHORIZED || NO_KEY.test(message)) {
    return { code: 'agent_not_logged_in', advice: ` (log in with \`${LOGIN}\`)` };
  }
  return { code: kind === 'sandboxError' ? 'agent_sandbox_broken' : 'agent_error', advice: '' };
}

/** Providers answer with JSON, and Codex hands it on as it is. */
function plainMessage(message: string): string {
  if (!message.startsWith('{')) return message;
  try {
    const told: unknown = JSON.parse(message)?.error?.message;
    return typeof told === 'string' ? told : message;
  } catch {
    return message;
  }
}
