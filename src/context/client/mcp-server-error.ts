import type { ErrorCode } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';

interface More {
  worktreePath: string;
  cause?: unknown;
  details?: Record<string, unknown>;
}

/** Whatever goes wrong between us and the analysis server of a worktree. */
export class McpServerError extends ReefError {
  readonly worktreePath: string;

  constructor(code: ErrorCode, message: string, { worktreePath, cause, details }: More) {
    super(code, message, { cause, details: { worktreePath, ...details } });
    this.name = 'McpServerError';
    this.worktreePath = worktreePath;
  }
}

/** The server runs and said no. */
export class McpQueryError extends McpServerError {
  constructor(code: ErrorCode, message: string, more: More) {
    super(code, message, more);
    this.name = 'McpQueryError';
  }

  /** A cursor of the event log stays expired; one of a server is made anew by asking again. */
  override get retryable(): boolean {
    return this.code === 'cursor_expired' || super.retryable;
  }
}

export class MissingBinaryError extends McpServerError {
  constructor(program: string, more: More) {
    super('analysis_server_missing', `There is no program ${program}.`, more);
    this.name = 'MissingBinaryError';
  }
}

export class ProcessStartError extends McpServerError {
  constructor(message: string, more: More & { stderr: string }) {
    super('analysis_server_start', message, { ...more, details: { stderr: more.stderr } });
    this.name = 'ProcessStartError';
  }
}

export function noActiveServer(worktreePath: string): McpServerError {
  return new McpServerError('no_active_server', 'No active analysis server for this worktree.', { worktreePath });
}

/** Also for one that was ended on purpose while it answered: its caller may ask once more. */
export function serverDied(worktreePath: string): McpServerError {
  return new McpServerError('analysis_server_died', 'The analysis server ended before it answered.', { worktreePath });
}
