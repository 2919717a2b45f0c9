/** Every clock of a job, in milliseconds. Tests and impatient users shorten them; nothing else varies. */
export interface Timings {
  /** How often raw output is looked at. */
  tick: number;
  /** From launch to the first protocol line. */
  start: number;
  /** From the end of the last turn to the end of the process. */
  linger: number;
  /** A paused process nobody uses. */
  idle: number;
  /** Silence that is shown as stalled. */
  stalled: number;
  /** Age at which pieces of text become an event though their message goes on. */
  textFlush: number;
  /** SIGTERM to SIGKILL. */
  grace: number;
  /** How long `send` and `interrupt` wait for the agent's own word. */
  acknowledge: number;
  /** How long a turn that is over waits for a message nobody acknowledged. */
  unacknowledged: number;
  /** The longest life of a process, kept without the daemon. */
  ceiling: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

export const defaultTimings: Timings = {
  tick: 50,
  start: 60 * SECOND,
  linger: 2 * SECOND,
  idle: 30 * MINUTE,
  stalled: 300 * SECOND,
  textFlush: 250,
  grace: 5 * SECOND,
  acknowledge: 5 * SECOND,
  unacknowledged: 30 * SECOND,
  ceiling: 24 * 60 * MINUTE,
};
