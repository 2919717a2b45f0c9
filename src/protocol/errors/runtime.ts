import type { ErrorRow } from './row.ts';

/** The runtime. */
export const runtimeErrors = {} as const satisfies Record<string, ErrorRow>;
