import { errorTable, ReefError } from '../../protocol/errors.ts';
import { byHand, type Check, type Finding, type Found } from './finding.ts';

/** All checks, side by side; one that breaks is a finding and does not hide the others. */
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
    const does = error instanceof ReefError ? errorTable[error.code].hint : 'mend what it names, then look again';
    const what = 'could not be checked';
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
