import type { CacheProfile } from '../repostate/prompt/cache-profile.ts';
import type { Model } from '../runtime/models/client.ts';

const EXPLICIT = { readFactor: 0.1, writeFactor: 1.25, ttlS: 300, maxMarks: 4, lookback: 20 };
const AUTOMATIC = { readFactor: 0.1, writeFactor: 1, ttlS: 300, maxMarks: 0, lookback: 0 };

/** How the provider of a model caches prompts: by the name of its client, since a gateway caches as what it stands before. */
export function profileOf({ client, name }: Model): CacheProfile {
  const reasoning = /(^|[^a-z])(o[134]|gpt-5|thinking|reason)/.test(name);
  if (/claude|anthropic/.test(`${client} ${name}`)) {
    return { ...EXPLICIT, minPrefix: /haiku|opus-4-5/.test(name) ? 4_096 : 1_024, reasoning };
  }
  return { ...AUTOMATIC, minPrefix: 1_024, reasoning };
}
