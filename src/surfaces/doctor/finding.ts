import type { Home } from '../../base/home.ts';
import { errorTable } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Client } from '../client/client.ts';

/** What most checks are given. */
export interface DoctorDeps {
  home: Home;
  client: Pick<Client, 'call'>;
  /** Check the whole database and every git object. */
  deep: boolean;
}

export interface Finding {
  check: string;
  severity: 'ok' | 'warn' | 'error';
  what: string;
  evidence: string;
  fix?: { does: string; safe: boolean };
}

/** Applying a safe fix twice is harmless, even if the first time was killed half way. */
export type Fix = { does: string; safe: false } | { does: string; safe: true; apply(): Promise<void> };

/** What one look found. A problem always comes with a fix. */
export type Result = Pick<Finding, 'what' | 'evidence'> &
  ({ severity: 'ok'; fix?: Fix } | { severity: 'warn' | 'error'; fix: Fix });

export type Found = Result & { check: string };

/** Looks at one thing, and changes nothing. What it throws becomes a finding. */
export interface Check {
  name: string;
  look(): Promise<Found[]>;
}

type Results = Result | readonly (Result & { check?: string })[];

/** A result has the name of the check, unless it brings its own. */
export function check(name: string, look: () => Promise<Results>): Check {
  return { name, look: async () => [await look()].flat().map((result) => ({ check: name, ...result })) };
}

export const ok = (what: string, evidence: string) => ({ severity: 'ok' as const, what, evidence });
export const warn = (what: string, evidence: string, fix: Fix) => ({ severity: 'warn' as const, what, evidence, fix });
export const bad = (what: string, evidence: string, fix: Fix) => ({ severity: 'error' as const, what, evidence, fix });

/** A fix for a person: it needs a decision, or rights that Reef does not have. */
export const byHand = (does: string): Fix => ({ does, safe: false });

/** Runs all checks side by side. A check that fails becomes a finding and does not hide the others. */
export async function examine(checks: readonly Check[], options: { fix: boolean }): Promise<Finding[]> {
  const found = await Promise.all(checks.map(look));
  const findings: Finding[] = [];
  for (const each of found.flat()) findings.push(options.fix ? await mend(each) : report(each));
  return findings;
}

async function look({ name, look }: Check): Promise<Found[]> {
  try {
    return await look();
  } catch (error) {
    const does =
      error instanceof ReefError
        ? errorTable[error.code].hint
        : 'fix what the message names, then run `reef doctor` again';
    const what = 'the check failed';
    return [{ check: name, severity: 'error', what, evidence: messageOf(error), fix: byHand(does) }];
  }
}

async function mend(found: Found): Promise<Finding> {
  if (!found.fix?.safe) return report(found);
  try {
    await found.fix.apply();
    return { ...report(found), severity: 'ok', what: `${found.what}: fixed` };
  } catch (error) {
    return { ...report(found), severity: 'error', evidence: `the fix failed: ${messageOf(error)}` };
  }
}

function report({ fix, ...finding }: Found): Finding {
  return fix ? { ...finding, fix: { does: fix.does, safe: fix.safe } } : finding;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
