import type { HitClass, Language, PackedFacts, Position, Skipped } from './contract.ts';
import type { WasmCode } from './wasm-code.ts';

export type Answer = PackedFacts | HitClass[] | Skipped;

export interface ParseRequest {
  source: Uint8Array;
  language: Language;
  /** Absent: extract facts. */
  hits?: readonly Position[];
  /** The bound of the parse alone, without the time to load a grammar. */
  parseMs: number;
}

export interface WorkerRequest extends ParseRequest {
  id: number;
  /** Sent with the first request of its language. */
  grammar: WasmCode | undefined;
}

export type WorkerReply =
  | { type: 'ready' }
  /** The engine or a grammar does not load, which is a fault of the installation and not of the file. */
  | { type: 'broken'; message: string }
  | { type: 'answer'; id: number; answer: Answer; memoryBytes: number };

export interface WorkerData {
  engine: WasmCode;
  /** The id of the current request, for when the thread dies. */
  underWay: SharedArrayBuffer;
}
