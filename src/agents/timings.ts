const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Every clock of a job, in milliseconds. Tests and impatient users shorten them. */
export const defaultTimings = {
  /** How often raw output is looked at. */
  tick: 50,
  /** From launch to the first protocol line. */
  start: 60 * SECOND,
  /** From the end of the last turn to the end of the process: adapters call a turn over when nothing is outstanding. */
  linger: 100,
  /** How long a paused process that nobody uses is kept. */
  idle: 30 * MINUTE,
  /** Silence that is shown as stalled. */
  stalled: 300 * SECOND,
  /** Age at which pieces of text become an event although their message goes on. */
  textFlush: 250,
  /** From SIGTERM to SIGKILL. */
  grace: 5 * SECOND,
  /** How long `kill` waits before it says what is still ending: longer than the whole way from SIGTERM to the last wait. */
  kill: 15 * SECOND,
  /** How long `send` and `interrupt` wait for the agent's acknowledgement. */
  acknowledge: 5 * SECOND,
  /** How long a turn that is over waits for a message nobody acknowledged. */
  unacknowledged: 30 * SECOND,
  /** The longest life of a process. It holds without a daemon. */
  ceiling: 24 * 60 * MINUTE,
};

export type Timings = typeof defaultTimings;

/** Reads each clock anew, so that a configuration that changes is in effect for jobs at work too. */
export function liveTimings(configured: () => Partial<Timings>): Timings {
  const names = Object.keys(defaultTimings) as (keyof Timings)[];
  const clocks = names.map((name) => [name, { get: () => configured()[name] ?? defaultTimings[name] }]);
  return Object.defineProperties({ ...defaultTimings }, Object.fromEntries(clocks));
}
