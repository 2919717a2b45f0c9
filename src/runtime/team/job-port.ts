import type { InboxMessage } from '../state/scope.ts';

/** How a child came to its end, and what it leaves. */
export interface JobEnd {
  status: 'completed' | 'failed' | 'cancelled';
  /** Its last message, whole. */
  output: string;
  /** Exit code, signal or the code of the error that ended it. */
  exit_status: string;
}

/** A question of a job that waits in the one inbox. */
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

/**
 * What a supervisor needs of those who keep jobs. It acts for one agent: what it spawns are that agent's children, and
 * it reaches nothing but them and what is below them. What a child says, hears and asks goes over its own wire.
 */
export interface JobPort {
  /** Starts an agent as a child job, or `workflow:NAME` as a run; its id. */
  spawn(child: {
    agent: string;
    task: string;
    cwd: string;
    /** Binds all that is below it, whoever starts it. */
    maxDepth: number;
    /** Of a run: files it means to change; a clash with other work makes it wait. */
    plan?: readonly string[] | undefined;
  }): Promise<string>;
  /** Rejects by the signal and by nothing else: a daemon that restarts is waited for. */
  ended(id: string, signal: AbortSignal): Promise<JobEnd>;
  look(id: string): Promise<{ status: string; last_output: string }>;
  /**
   * Waits a moment for the job, then tells what is asked by it or below it. While a parent attends, its own place among the
   * running jobs is lent to its children.
   */
  attend(id: string, signal: AbortSignal): Promise<readonly Escalation[]>;
  /** First answer wins; permissions are for people. */
  reply(escalation: string, reply: string): Promise<void>;
  /** Rejects with `job_ended` when nobody will read it. */
  send(id: string, message: InboxMessage): Promise<void>;
  /** Ends the job and all below it, and waits for that. */
  kill(id: string): Promise<void>;
}
