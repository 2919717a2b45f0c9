export interface Finding {
  check: string;
  severity: 'ok' | 'warn' | 'error';
  what: string;
  /** Where one may look to see it. */
  evidence: string;
  fix?: { does: string; safe: boolean };
}

/** A finding as a check makes it: a safe fix comes with the act. It must be harmless when repeated. */
export interface Found extends Omit<Finding, 'fix'> {
  fix?: { does: string; safe: false } | { does: string; safe: true; apply(): Promise<void> };
}

/** Looks at one thing and only reads. What it throws becomes a finding of its own. */
export interface Check {
  name: string;
  look(): Promise<Found[]>;
}

export const ok = (what: string, evidence: string) => ({ severity: 'ok' as const, what, evidence });
export const warn = (what: string, evidence: string) => ({ severity: 'warn' as const, what, evidence });
export const bad = (what: string, evidence: string) => ({ severity: 'error' as const, what, evidence });
