import type { z } from 'zod';
import { codeOperations } from './code-operations.ts';
import { jobOperations } from './job-operations.ts';
import { recordOperations } from './record-operations.ts';
import { runOperations } from './run-operations.ts';
import { stateOperations } from './state-operations.ts';
import { trustOperations } from './trust.ts';
import { worktreeOperations } from './worktree-operations.ts';

/** Every verb of Reef. --json, the result of the MCP tool and the body on the socket are the same object. */
export const operations = {
  ...jobOperations,
  ...recordOperations,
  ...runOperations,
  ...worktreeOperations,
  ...codeOperations,
  ...stateOperations,
  ...trustOperations,
};

export type OperationName = keyof typeof operations;
/** What a caller writes: defaults may be left out. */
export type OperationInput<N extends OperationName> = z.input<(typeof operations)[N]['input']>;
/** What an implementation receives: defaults filled in. */
export type OperationRequest<N extends OperationName> = z.output<(typeof operations)[N]['input']>;
export type OperationOutput<N extends OperationName> = z.infer<(typeof operations)[N]['output']>;

/** Who calls. A job may act only on itself and its descendants. */
export interface Caller {
  by: string;
  surface: 'cli' | 'mcp' | 'job' | 'web';
  jobId?: string;
  /** It called through the socket of the home without the credential of a person. */
  isClient?: true;
}

type CorePart<N extends OperationName> = {
  [K in N]: (input: OperationRequest<K>, caller: Caller, signal: AbortSignal) => Promise<OperationOutput<K>>;
};

/** What every surface calls. */
export type Core = CorePart<OperationName>;
export type JobCore = CorePart<keyof typeof jobOperations>;
export type RecordCore = CorePart<keyof typeof recordOperations>;
export type RunCore = CorePart<keyof typeof runOperations>;
export type WorktreeCore = CorePart<keyof typeof worktreeOperations>;
export type CodeCore = CorePart<keyof typeof codeOperations>;
export type StateCore = CorePart<keyof typeof stateOperations>;
export type TrustCore = CorePart<keyof typeof trustOperations>;
