import type { InboxMessage } from '../state/scope.ts';

/** How a child ended, and its result. */
export interface JobEnd {
  status: 'completed' | 'failed' | 'cancelled';
  /** Its last message. */
  output: string;
  /** Exit code, signal or the code of the error that ended it. */
  exit_status: string;
}

/** A job's question that waits in the inbox. */
export interface Escalation {
  id: string;
  job_id: string;
  agent: string;
  /** Job ids from the root to the one that asks. */
  path: readonly string[];
  kind: string;
  question: string;
  options?: readonly string[];
}

/** The jobs of one agent's children. It reaches only them and the jobs below them. */
export interface JobPort {
  /** Starts an agent as a child job, or `workflow:NAME` as a run, and gives its id. */
  spawn(child: {
    agent: string;
    task: string;
    cwd: string;
    /** Binds all jobs below it. */
    maxDepth: number;
    /** The files a run means to change. A run that clashes with other work waits. */
    plan?: readonly string[] | undefined;
  }): Promise<string>;
  /** Rejects only by the signal: it waits for a daemon that restarts. */
  ended(id: string, signal: AbortSignal): Promise<JobEnd>;
  look(id: string): Promise<{ status: string; last_output: string }>;
  /** Waits a moment for the job, then gives the questions of it and below it. Meanwhile the parent's slot is free for its children. */
  attend(id: string, signal: AbortSignal): Promise<readonly Escalation[]>;
  /** The first answer counts. Only people answer permission requests. */
  reply(escalation: string, reply: string): Promise<void>;
  /** Rejects with `job_ended` if the job has ended. */
  send(id: string, message: InboxMessage): Promise<void>;
  /** Ends the job and all jobs below it, and waits for that. */
  kill(id: string): Promise<void>;
}
