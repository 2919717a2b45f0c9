import type { Oid } from '../../../git/ref-name.ts';
import type { PackedSummary } from '../../lang/contract.ts';

export type Stage = 1 | 2;

/** `ok` and `partial` carry data; the others say why there is none, which is a fact too (C-015). */
export type FactStatus = 'ok' | 'partial' | 'binary' | 'too_large' | 'long_line' | 'timeout' | 'crash';

export interface FactKey {
  oid: Oid;
  /** Empty for words, which belong to no language. */
  lang: string;
  stage: Stage;
}

export interface Fact extends FactKey {
  extractor: string;
  status: FactStatus;
  data: Uint8Array;
  /** Words define nothing, and neither does what was skipped. */
  summary?: PackedSummary;
  bytes: number;
}
