import type { Ledger } from '../../src/repostate/prompt/ledger.ts';

/** The tokens of a prompt that Reef itself put there. */
export function ownTokens({ segments }: Pick<Ledger, 'segments'>): number {
  return segments.reduce((sum, { provenance, tokens }) => sum + (provenance === 'reef' ? tokens : 0), 0);
}
