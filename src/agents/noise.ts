import type { Noise } from './job-runtime.ts';

const SHOWN_A_MINUTE = 20;

/** Lets 20 lines of a kind through a minute; the rest are counted and told with the next minute. */
export function admit(noise: Noise, minute: number): { noise: Noise; isShown: boolean; toTell: number } {
  const isNewMinute = minute !== noise.minute;
  const current = isNewMinute ? { minute, shown: 0, hidden: 0 } : noise;
  const toTell = isNewMinute ? noise.hidden : 0;
  const isShown = current.shown < SHOWN_A_MINUTE;
  const next = isShown ? { ...current, shown: current.shown + 1 } : { ...current, hidden: current.hidden + 1 };
  return { noise: next, isShown, toTell };
}
