/** Every limit in time of servers and their manager, in milliseconds. */
export const TIMINGS = {
  /** From the start to the answer to `initialize`. */
  start: 10_000,
  index: 600_000,
  /** How long `ensureServer` waits for the first scan before it hands out a client that answers incompletely. */
  usable: 10_000,
  /** From the end of its input to SIGTERM, and on to SIGKILL. */
  inputEnd: 1_000,
  grace: 4_000,
  /** How long a start waits for a server that has nothing to answer. */
  busy: 10_000,
  /** Without a question or a change: of a worktree that is not active, and of one that is. */
  inactive: 60_000,
  silent: 600_000,
  look: 5_000,
  restarts: [200, 1_000, 5_000],
  deathWindow: 60_000,
} as const satisfies Record<string, number | readonly number[]>;

export type Timings = { readonly [K in keyof typeof TIMINGS]: K extends 'restarts' ? readonly number[] : number };
