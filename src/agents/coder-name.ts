/** Reef's own coder: a program of its own, which keeps the state of its worktree itself. Any other `native:NAME` does not. */
export const CODER = 'native:coder';
