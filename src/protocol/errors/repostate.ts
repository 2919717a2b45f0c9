import type { ErrorRow } from './row.ts';

/** RepoState and the native coder. */
export const repostateErrors = {} as const satisfies Record<string, ErrorRow>;
