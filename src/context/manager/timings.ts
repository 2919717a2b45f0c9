/** All time limits of servers and their manager, in milliseconds. */
export const TIMINGS = {
  /** From the start to the answer to `initialize`. */
  start: 10_000,
  index: 600_000,
  /** How long `ensureServer` waits for the first scan. After that it returns a client whose answers may be incomplete. */
  usable: 10_000,
  /** From the end of its input to SIGTERM, and from there to SIGKILL. */
  inputEnd: 1_000,
  grace: 4_000,
  /** How long a start waits for another server to become idle. */
  busy: 10_000,
  /** How long a server may be silent: in a worktree that is not active, and in one that is. */
  inactive: 60_000,
  silent: 600_000,
  look: 5_000,
  restarts: [200, 1_000, 5_000],
  deathWindow: 60_000,
} as const satisfies Record<string, number | readonly number[]>;

export type Timings = { readonly [K in keyof typeof TIMINGS]: K extends 'restarts' ? readonly number[] : number };
