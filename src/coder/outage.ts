import type { Clock } from '../base/clock.ts';
import type { ReefError } from '../protocol/errors.ts';

const FIRST_MS = 2_000;
const LONGEST_MS = 60_000;
const PATIENCE_MS = 15 * 60_000;

interface OutageHands {
  clock: Clock;
  signal: AbortSignal;
  tell(message: string): void;
}

/** A provider that cannot be reached is waited for, longer each time, a quarter of an hour in all; the turn stays the same (S-59). */
export async function waitOutOutage(
  { clock, signal, tell }: OutageHands,
  error: ReefError,
  attempt: number,
): Promise<boolean> {
  const delay = Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1));
  const waited = Array.from({ length: attempt - 1 }, (_, n) => Math.min(LONGEST_MS, FIRST_MS * 2 ** n)).reduce(
    (sum, ms) => sum + ms,
    0,
  );
  if (waited + delay > PATIENCE_MS) return false;
  tell(`${error.code}: ${error.message} Tried again in ${Math.round(delay / 1_000)} s.`);
  await clock.sleep(delay, signal);
  return !signal.aborted;
}
