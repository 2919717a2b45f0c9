import type { HitClass, Language, PackedFacts, Position, Skipped } from './contract.ts';
import type { WasmCode } from './wasm-code.ts';

export type Answer = PackedFacts | HitClass[] | Skipped;

/** What the pool asks of a worker. */
export interface ParseRequest {
  source: Uint8Array;
  language: Language;
  /** Absent: extract facts. */
  hits?: readonly Position[];
  /** Of parsing alone; loading a grammar is not the file's fault. */
  parseMs: number;
}

export interface WorkerRequest extends ParseRequest {
  id: number;
  /** With the first request of its language. */
  grammar: WasmCode | undefined;
}

export type WorkerReply =
  | { type: 'ready' }
  /** The engine or a grammar does not load: a fault of the installation, never a fact about the file. */
  | { type: 'broken'; message: string }
  /** The WASM memory only ever grows. */
  | { type: 'answer'; id: number; answer: Answer; memoryBytes: number };

export interface WorkerData {
  engine: WasmCode;
  /** One number, that of the request it works at: a thread that dies can no longer say so. */
  underWay: SharedArrayBuffer;
}
