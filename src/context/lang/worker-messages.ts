import type { HitClass, Language, PackedFacts, Position, Skipped } from './contract.ts';

export type Answer = PackedFacts | HitClass[] | Skipped;

/** What the pool asks of a worker, one at a time. */
export interface WorkerRequest {
  source: Uint8Array;
  language: Language;
  /** Absent: extract facts. */
  hits?: readonly Position[];
  /** Of parsing alone; loading a grammar is not the file's fault. */
  parseMs: number;
}

export type WorkerReply =
  | { type: 'ready' }
  /** The engine or a grammar does not load: a fault of the installation, never a fact about the file. */
  | { type: 'broken'; message: string }
  /** The WASM memory only ever grows. */
  | { type: 'answer'; answer: Answer; memoryBytes: number };
