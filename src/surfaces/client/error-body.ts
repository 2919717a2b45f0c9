import { type ErrorBody, toReefError } from '../../protocol/errors.ts';
import { DaemonError } from './request.ts';

/** What to show of a failed call, whichever side refused it. */
export function errorBody(error: unknown): ErrorBody {
  return error instanceof DaemonError ? error.body : toReefError(error).toBody();
}
