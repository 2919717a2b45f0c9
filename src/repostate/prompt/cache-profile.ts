import { ReefError } from '../../protocol/errors.ts';

/** How a model's provider caches prompts; prices as factors of an uncached input token. */
export interface CacheProfile {
  readFactor: number;
  writeFactor: number;
  /** Shorter prefixes are not cached. */
  minPrefix: number;
  ttlS: number;
  /** Whether replies come with opaque reasoning that must be sent back. */
  reasoning: boolean;
}

export interface ContextParameters {
  /** `full` is the rollback (`use_snapshot: false`): state is tracked and snapshots are kept, but prompts carry the whole history. */
  mode: 'epoch' | 'snapshot' | 'full';
  /** B: the tail is rolled when it exceeds this many tokens. */
  tailBudget: number;
  /** k: exchanges kept whole at a roll. */
  keep: number;
  /** At a roll, older exchanges are kept until the prompt is this long: under the minimum nothing is cached. */
  fillTo: number;
  /** Of the model; a whole history must fit. */
  window: number;
}

export interface ContextSettings {
  /** `context.use_snapshot`; true unless told. */
  useSnapshot?: boolean | undefined;
  mode?: 'auto' | 'epoch' | 'snapshot' | undefined;
  tailBudget?: number | undefined;
  keep?: number | undefined;
}

const SMALL_WINDOW = 32_000;
const SMALL_MINIMUM = 2_048;
/** Chosen on one half of the reference runs, confirmed on the other: docs/decisions/0010-context-parameters.md. */
const TAIL_BUDGET = 10_000;
const REASONING_TAIL_BUDGET = 12_000;
const KEEP = 2;
const FILL = 1.1;
const SMALLEST_TAIL = 2_000;
const LARGEST_TAIL = 64_000;
const WINDOW_SHARE = 0.25;

/** Follows how the provider caches; a person's settings win over that, within bounds. */
export function parametersFor(
  profile: CacheProfile,
  window: number,
  settings: ContextSettings = {},
): ContextParameters {
  const { tailBudget, keep = KEEP } = settings;
  if (tailBudget !== undefined && !isWithin(tailBudget, SMALLEST_TAIL, Math.min(LARGEST_TAIL, window * WINDOW_SHARE))) {
    const most = Math.floor(Math.min(LARGEST_TAIL, window * WINDOW_SHARE));
    throw invalid('tail_budget', `${tailBudget} is not between ${SMALLEST_TAIL} and ${most}, a quarter of the window`);
  }
  if (!isWithin(keep, 1, 10)) throw invalid('keep', `${keep} is not between 1 and 10`);
  const isUncached = profile.readFactor >= 1 || window < SMALL_WINDOW;
  const usual = profile.reasoning ? REASONING_TAIL_BUDGET : TAIL_BUDGET;
  return {
    mode: modeOf(settings, isUncached),
    tailBudget: tailBudget ?? Math.min(usual, Math.floor(window * WINDOW_SHARE)),
    keep,
    fillTo: profile.minPrefix > SMALL_MINIMUM ? Math.ceil(profile.minPrefix * FILL) : 0,
    window,
  };
}

function modeOf(
  { useSnapshot = true, mode = 'auto' }: ContextSettings,
  isUncached: boolean,
): ContextParameters['mode'] {
  if (!useSnapshot) return 'full';
  if (mode !== 'auto') return mode;
  return isUncached ? 'snapshot' : 'epoch';
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function invalid(field: string, why: string): ReefError {
  return new ReefError('config_invalid', `context.${field}: ${why}.`, { details: { field: `context.${field}` } });
}
