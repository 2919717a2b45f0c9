import { ReefError } from '../../protocol/errors.ts';

/** How the provider of a model caches prompts. */
export interface CacheProfile {
  /** The price of a cached token as a factor of an uncached one. */
  readFactor: number;
  /** Shorter prefixes are not cached. */
  minPrefix: number;
  ttlS: number;
  /** Replies come with opaque reasoning that must be sent back. */
  reasoning: boolean;
}

export interface ContextParameters {
  /** `full` (`use_snapshot: false`) sends the whole history. State and snapshots are kept all the same. */
  mode: 'epoch' | 'snapshot' | 'full';
  /** The tail is rolled when it exceeds this many tokens. */
  tailBudget: number;
  /** Exchanges that a roll keeps whole. */
  keep: number;
  /** A roll keeps older exchanges until the prompt is this long: a shorter prefix is not cached. */
  fillTo: number;
  /** The context window of the model: a whole history must fit. */
  window: number;
}

/** `reef.context` of the configuration. */
export interface ContextSettings {
  use_snapshot?: boolean;
  mode?: 'auto' | 'epoch' | 'snapshot';
  tail_budget?: number;
  keep?: number;
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

/** The parameters follow from how the provider caches. A person's settings override them, within bounds. */
export function parametersFor(
  profile: CacheProfile,
  window: number,
  settings: ContextSettings = {},
): ContextParameters {
  const { tail_budget: tailBudget, keep = KEEP } = settings;
  const share = Math.floor(window * WINDOW_SHARE);
  const most = Math.min(LARGEST_TAIL, share);
  if (tailBudget !== undefined && !isWithin(tailBudget, SMALLEST_TAIL, most)) {
    throw invalid('tail_budget', `${tailBudget} is not between ${SMALLEST_TAIL} and ${most}, a quarter of the window`);
  }
  if (!isWithin(keep, 1, 10)) throw invalid('keep', `${keep} is not between 1 and 10`);
  const isUncached = profile.readFactor >= 1 || window < SMALL_WINDOW;
  const usual = profile.reasoning ? REASONING_TAIL_BUDGET : TAIL_BUDGET;
  return {
    mode: modeOf(settings, isUncached ? 'snapshot' : 'epoch'),
    tailBudget: tailBudget ?? Math.min(usual, share),
    keep,
    fillTo: profile.minPrefix > SMALL_MINIMUM ? Math.ceil(profile.minPrefix * FILL) : 0,
    window,
  };
}

function modeOf({ use_snapshot = true, mode = 'auto' }: ContextSettings, automatic: 'epoch' | 'snapshot') {
  if (!use_snapshot) return 'full';
  return mode === 'auto' ? automatic : mode;
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function invalid(field: string, why: string): ReefError {
  return new ReefError('config_invalid', `context.${field}: ${why}.`, { details: { field: `context.${field}` } });
}
