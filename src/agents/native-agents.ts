/** Reef's own coding agent, started like any other. */
export const CODER = 'native:coder';

/** A native child's process exits with this code when the process of its parent did not release it in time. */
export const STUCK_PARENT_EXIT = 75;
