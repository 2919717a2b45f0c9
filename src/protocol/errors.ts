import { type ErrorCode, errorTable } from './error-table.ts';

export interface ErrorBody {
  error: { code: string; message: string; hint: string; retryable: boolean; details?: Record<string, unknown> };
}

export class ReefError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, more: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'ReefError';
    this.code = code;
    this.details = more.details;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }

  toBody(): ErrorBody {
    const { hint, retryable } = errorTable[this.code];
    const details = this.details ? { details: this.details } : {};
    return { error: { code: this.code, message: this.message, hint, retryable, ...details } };
  }
}

/** Every failure that leaves the daemon is a ReefError; what is not one is a defect and says so. */
export function toReefError(error: unknown): ReefError {
  if (error instanceof ReefError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ReefError('internal', message, { cause: error });
}
