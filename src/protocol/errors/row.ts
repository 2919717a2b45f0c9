export interface ErrorRow {
  /** HTTP status on the socket API. */
  status: number;
  /** Exit code of the command line (U-02). */
  exit: 1 | 2 | 3 | 4 | 5 | 69;
  retryable: boolean;
  hint: string;
}

/** The same call fails again until something changes. */
export const final = (status: number, exit: ErrorRow['exit'], hint: string): ErrorRow => ({
  status,
  exit,
  retryable: false,
  hint,
});
/** The same call may succeed later without a change. */
export const passing = (status: number, exit: ErrorRow['exit'], hint: string): ErrorRow => ({
  status,
  exit,
  retryable: true,
  hint,
});
