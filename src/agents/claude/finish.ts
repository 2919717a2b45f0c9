import type { ErrorCode } from '../../protocol/errors.ts';
import type { Exit } from '../adapter.ts';
import { explain, isUnknownSession } from './outcome.ts';
import type { ClaudeState } from './state.ts';

const NO_LOGIN = /not logged in|please run \/login|invalid api key/i;
const SESSION_IN_USE = /session id \S+ is already in use/i;

/** A result that was never followed by idleness, then what Claude writes to stderr when it does not start. */
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
