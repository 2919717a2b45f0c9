import { join } from 'node:path';
import { openTerminal } from '../../process/terminal.ts';
import type { AttachInfo } from '../../protocol/daemon.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Job } from '../../protocol/jobs.ts';
import { isLive } from '../job-status.ts';
import { jobDir } from '../launcher.ts';

/** How a person joins the terminal of a job. */
export function attachCommand(homeDir: string, job: Pick<Job, 'id' | 'mode' | 'status' | 'launch'>): AttachInfo {
  if (job.mode !== 'headful') throw new ReefError('not_headful', `job ${job.id} has no terminal`);
  if (!isLive(job.status)) throw new ReefError('job_ended', `job ${job.id} is over (${job.status})`);
  const dir = join(jobDir(homeDir, job.id), String(job.launch));
  const terminal = job.status === 'queued' ? undefined : openTerminal(dir);
  if (!terminal) throw new ReefError('invalid_transition', `job ${job.id} has not been started yet`);
  return terminal.attachCommand();
}
