import { join } from 'node:path';
import type { Capabilities } from '../../process/capabilities.ts';
import { openTerminal } from '../../process/terminal.ts';
import type { AttachInfo } from '../../protocol/daemon.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Caller, OperationRequest } from '../../protocol/operations.ts';
import type { Adapter } from '../adapter.ts';
import { isLive } from '../job-status.ts';
import { jobDir } from '../sandbox.ts';

/** The adapter as this job needs it. */
export function forMode(adapter: Adapter, mode: Job['mode']): Adapter {
  return mode === 'headful' ? atTerminal(adapter) : adapter;
}

/** The same agent behind its own terminal. It talks to people there, and beside it by its hooks where it has them. */
function atTerminal(adapter: Adapter): Adapter {
  const { terminal, terminalTalk: talk } = adapter;
  const { title } = adapter.describe();
  if (!terminal) throw new ReefError('headful_unsupported', `${title} has no terminal that Reef can open`);
  return {
    describe: adapter.describe,
    command: terminal,
    initial: () => talk?.initial() ?? null,
    parse: (state, line) => talk?.parse(state, line) ?? { state, effects: [] },
    encode: (state, outgoing) =>
      talk?.encode(state, outgoing) ?? {
        refuse: 'send_unsupported',
        message: `${title} is told nothing but by its keyboard`,
      },
    finish: () => undefined,
  };
}

type Asked = Pick<OperationRequest<'spawn'>, 'mode' | 'yes' | 'budget'>;

/** Refuses what a terminal cannot do before there is a job. */
export function refuseHeadful(
  { mode, yes, budget }: Asked,
  host: { adapter: Adapter; capabilities: Pick<Capabilities, 'tmux'> },
  caller: Pick<Caller, 'jobId'>,
): void {
  forMode(host.adapter, mode);
  if (mode !== 'headful') return;
  if (host.capabilities.tmux === undefined) throw new ReefError('headful_unsupported', 'tmux is not installed here');
  if (caller.jobId !== undefined) throw new ReefError('not_yours', 'a terminal is opened by people, not by jobs');
  if (yes)
    throw new ReefError(
      'bad_request',
      'a headful agent asks in its own terminal, where Reef cannot answer "yes" for you',
    );
  if (budget.tokens !== undefined || budget.turns !== undefined) {
    throw new ReefError(
      'bad_request',
      'tokens and turns of a headful agent are not seen: only its time can be limited',
    );
  }
}

/** How a person joins the terminal of a job. */
export function attachCommand(homeDir: string, job: Pick<Job, 'id' | 'mode' | 'status' | 'launch'>): AttachInfo {
  if (job.mode !== 'headful') throw new ReefError('not_headful', `job ${job.id} has no terminal`);
  if (!isLive(job.status)) throw new ReefError('job_ended', `job ${job.id} is over (${job.status})`);
  const dir = join(jobDir(homeDir, job.id), String(job.launch));
  const terminal = job.status === 'queued' ? undefined : openTerminal(dir);
  if (!terminal) throw new ReefError('invalid_transition', `job ${job.id} has not been started yet`);
  return terminal.attachCommand();
}
