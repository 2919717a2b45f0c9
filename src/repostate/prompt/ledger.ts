import { createHash } from 'node:crypto';
import type { NoteKind } from '../../protocol/repostate.ts';
import type { CacheProfile } from './cache-profile.ts';

export interface Segment {
  kind: 'tools' | 'system' | 'instructions' | 'task' | 'snapshot' | 'exchange' | NoteKind;
  /** Whose text it is. Reef's own counts towards its 5,000 tokens per prompt. */
  provenance: 'reef' | 'project' | 'agent';
  tokens: number;
  hash: string;
}

/** One line of `context.jsonl`: hashes and sizes, never text. */
export interface Ledger {
  turn: number;
  epoch: number;
  mode: 'epoch' | 'snapshot' | 'full';
  segments: Segment[];
  exclusions: { id: string; why: 'rolled' | 'capped' }[];
  /** The number of tokens that the model is expected to report. */
  estimated: number;
}

export interface Reported {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  cost?: number;
}

export type ReportedCall = Ledger & { reported: Reported };

const PROVENANCE: Partial<Record<Segment['kind'], Segment['provenance']>> = {
  instructions: 'project',
  exchange: 'agent',
  code: 'project',
};

export function segmentOf(kind: Segment['kind'], text: string, tokens: number): Segment {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return { kind, provenance: PROVENANCE[kind] ?? 'reef', tokens, hash };
}

export function countedTokens({ segments }: Pick<Ledger, 'segments'>): number {
  return segments.reduce((sum, { tokens }) => sum + tokens, 0);
}

export function ledgerLine(ledger: Ledger, reported: Reported): string {
  return `${JSON.stringify({ ...ledger, reported })}\n`;
}

const MISSES = 3;

/** Detects that a stable prefix is not read from the provider's cache, and which segment breaks it. */
export class CacheWatch {
  readonly #profile: CacheProfile;
  #before: Ledger | undefined;
  #misses = 0;

  constructor(profile: CacheProfile) {
    this.#profile = profile;
  }

  /** At the third miss in a row: the first segment that differs from the call before. */
  observe(ledger: Ledger, reported: Reported): string | undefined {
    const before = this.#before;
    this.#before = ledger;
    if (!before) return undefined;
    const { shared, segment } = commonPrefix(before.segments, ledger.segments);
    if (shared < this.#profile.minPrefix) return undefined;
    this.#misses = reported.cacheRead > 0 ? 0 : this.#misses + 1;
    if (this.#misses < MISSES) return undefined;
    this.#misses = 0;
    return segment;
  }
}

function commonPrefix(before: readonly Segment[], now: readonly Segment[]): { shared: number; segment: string } {
  let shared = 0;
  for (const [index, segment] of now.entries()) {
    // Appended segments are no difference: then our prefix is the same to the byte, and the provider did not keep it.
    if (index >= before.length) break;
    if (before[index]?.hash !== segment.hash) return { shared, segment: `${index}:${segment.kind}` };
    shared += segment.tokens;
  }
  return { shared, segment: 'none' };
}
