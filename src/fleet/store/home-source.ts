import type { ChangeSignal } from '../../events/change-signal.ts';
import type { InboxEntry, JobView } from '../../protocol/job-operations.ts';
import type { EventTable } from '../../store/event-table.ts';

/** Who lands something: with an old epoch nothing lands. */
export interface HostIdentity {
  host: string;
  epoch: number;
}

/** What the fleet takes of one repository's home on a host. */
export interface HomeSource {
  /** Its id in the fleet. */
  repository: string;
  events: Pick<EventTable, 'lastSeq' | 'ofAll'>;
  signal: ChangeSignal;
  /** The job as people see it; undefined when the home no longer has it. */
  job(id: string): Promise<JobView | undefined>;
  /** The run a job works for, directly or through the jobs above it. */
  runOf(jobId: string): string | undefined;
  questions(): Promise<InboxEntry[]>;
  /** Does what a person asked for, with the guards and the audit of the home. */
  perform(operation: string, input: unknown, by: string): Promise<unknown>;
}

export interface HostDeps {
  /** Undefined while the host has no session: nothing is sent then. */
  identity(): HostIdentity | undefined;
  homes(): readonly HomeSource[];
}
