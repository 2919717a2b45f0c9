import type { ErrorCode } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';

interface More {
  worktreePath: string;
  cause?: unknown;
  details?: Record<string, unknown>;
}

export class McpServerError extends ReefError {
  override name = 'McpServerError';
  readonly worktreePath: string;

  constructor(code: ErrorCode, message: string, { worktreePath, cause, details }: More) {
    super(code, message, { cause, details: { worktreePath, ...details } });
    this.worktreePath = worktreePath;
  }
}

/** The server is running and refused the request. */
export class McpQueryError extends McpServerError {
  override name = 'McpQueryError';

  /** Unlike a cursor of the event log, an expired cursor of a server can be replaced by asking again. */
  override get retryable(): boolean {
    return this.code === 'cursor_expired' || super.retryable;
  }
}

export class MissingBinaryError extends McpServerError {
  override name = 'MissingBinaryError';

  constructor(program: string, more: More) {
    super('analysis_server_missing', `There is no program ${program}.`, more);
  }
}

export class ProcessStartError extends McpServerError {
  override name = 'ProcessStartError';

  constructor(message: string, more: More & { stderr: string }) {
    super('analysis_server_start', message, { ...more, details: { stderr: more.stderr } });
  }
}

export function noActiveServer(worktreePath: string): McpServerError {
  return new McpServerError('no_active_server', 'No active analysis server for this worktree.', { worktreePath });
}

/** Also for a server that was ended on purpose while it answered. The caller may ask once more. */
export function serverDied(worktreePath: string): McpServerError {
  return new McpServerError('analysis_server_died', 'The analysis server ended before it answered.', { worktreePath });
}
