import type { ErrorRow } from './row.ts';

/** Code context. */
export const contextErrors = {} as const satisfies Record<string, ErrorRow>;
