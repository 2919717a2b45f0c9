export interface Finding {
  check: string;
  severity: 'ok' | 'warn' | 'error';
  what: string;
  /** Where one may look to see it. */
  evidence: string;
  fix?: { does: string; safe: boolean };
}

/** A safe fix comes with the act. It must be harmless when repeated, also after it was killed half way. */
export type Fix = { does: string; safe: false } | { does: string; safe: true; apply(): Promise<void> };

/** A finding as a check makes it. What is not well always says what to do (U-06). */
export type Found = Pick<Finding, 'check' | 'what' | 'evidence'> &
  ({ severity: 'ok'; fix?: Fix } | { severity: 'warn' | 'error'; fix: Fix });

/** `Omit` that keeps the two kinds apart. */
export type Result = Found extends infer F ? (F extends unknown ? Omit<F, 'check'> : never) : never;

/** Looks at one thing and only reads. What it throws becomes a finding of its own. */
export interface Check {
  name: string;
  look(): Promise<Found[]>;
}

/** Of a single thing to say. */
export function check(name: string, look: () => Promise<Result>): Check {
  return { name, look: async () => [{ check: name, ...(await look()) }] };
}

export const ok = (what: string, evidence: string) => ({ severity: 'ok' as const, what, evidence });
export const warn = (what: string, evidence: string, fix: Fix) => ({ severity: 'warn' as const, what, evidence, fix });
export const bad = (what: string, evidence: string, fix: Fix) => ({ severity: 'error' as const, what, evidence, fix });

/** For a person, who must decide it or has rights we have not. */
export const byHand = (does: string): Fix => ({ does, safe: false });
