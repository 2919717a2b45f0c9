import type { Capabilities } from '../../process/capabilities.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Caller, OperationRequest } from '../../protocol/operations.ts';
import type { Adapter } from '../adapter.ts';
import { forMode } from './at-terminal.ts';

type Asked = Pick<OperationRequest<'spawn'>, 'mode' | 'yes' | 'budget'>;

/** What a terminal cannot do is said before there is a job. */
export function refuseHeadful(
  { mode, yes, budget }: Asked,
  host: { adapter: Adapter; capabilities: Pick<Capabilities, 'tmux'> },
  caller: Pick<Caller, 'jobId'>,
): void {
  forMode(host.adapter, mode);
  if (mode !== 'headful') return;
  if (host.capabilities.tmux === undefined) throw new ReefError('headful_unsupported', 'tmux is not installed here');
  if (caller.jobId !== undefined) throw new ReefError('not_yours', 'a terminal is opened by people, not by jobs');
  if (yes) throw new ReefError('bad_request', 'a terminal asks in itself: Reef cannot answer there with "yes"');
  if (budget.tokens !== undefined || budget.turns !== undefined) {
    throw new ReefError('bad_request', 'tokens and turns of a terminal are not seen: only its time can be limited');
  }
}
