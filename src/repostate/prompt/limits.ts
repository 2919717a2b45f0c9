/** What Reef's own text may take of every prompt, in tokens (S-29). Together under 5,000. */
export const OWN_LIMITS = { tools: 1_600, system: 600, task: 1_800, snapshot: 800, reminder: 150 } as const;
export const OWN_TOTAL = 5_000;
/** A project's instruction files are not Reef's text: frozen in the prefix, counted apart. */
export const INSTRUCTIONS_LIMIT = 4_000;
/** The whole prompt of mode `snapshot`, and its shares of task and snapshot (S-36). */
export const SNAPSHOT_MODE = { total: 5_000, task: 900, snapshot: 500 } as const;
