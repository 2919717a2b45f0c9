import type { Json } from '../../protocol/workflow.ts';

/**
 * What the workflow engine needs of a durable runtime: here over SQLite in one process, in a fleet over
 * Postgres. Outside steps a body is deterministic: no clock, no id, no chance, no I/O.
 */
export interface DurableEngine {
  define(name: string, body: Body, options?: { version: number }): void;
  /** A known id is joined; with another input it is refused (`run_exists`). */
  start(name: string, runId: string, input: Json): Promise<void>;
  /** Stored before it is acknowledged. The first answer to a key wins; one that came before its wait is found. */
  answer(runId: string, key: string, answerId: string, value: Json): Promise<'taken' | 'duplicate' | 'late'>;
  /** Reaches children; twice is once. Resolves when what was under way has let go. */
  cancel(runId: string, reason: string): Promise<void>;
  /** Takes up every unfinished run that is not under way here. */
  recover(): Promise<string[]>;
  history(runId: string, after?: number): AsyncIterable<JournalEntry>;
  result(runId: string, options?: { abort?: AbortSignal }): Promise<RunEnd>;
  list(filter: RunFilter, cursor?: string): Promise<{ runs: RunRow[]; next?: string }>;
  /** Ends nothing: a run goes on where it was when somebody recovers it. */
  close(): Promise<void>;
}

export type Body = (durable: Durable, input: Json) => Promise<Json>;

export interface Durable {
  /** The first recorded result of a key is the result; after a crash before the record `fn` is called again. */
  step<T extends Json>(
    key: string,
    input: Json,
    fn: (scope: StepScope) => Promise<T>,
    options?: { timeoutMs?: number },
  ): Promise<T>;
  /** `undefined` when nobody answered until then. */
  waitFor(key: string, question: Json, until?: string): Promise<Json | undefined>;
  sleepUntil(key: string, at: string): Promise<void>;
  /** A defined body, run beside this one; `undefined` when it was ended by `abort`. */
  child(key: string, name: string, input: Json, options?: { abort?: AbortSignal }): Promise<Json | undefined>;
}

export interface StepScope {
  /** The same at every attempt: what makes an effect happen once. */
  effectKey: string;
  attempt: number;
  /** Fires on cancel and timeout, and with `Detached` as its reason when this process merely lets go of the run. */
  abort: AbortSignal;
}

/** Nobody asked to end anything: who holds something that outlives the process leaves it alone. */
export class Detached extends Error {}

/** Somebody ended the run: whatever works for it is to be ended too. */
export class Cancelled extends Error {}

export type JournalKind = 'start' | 'step' | 'wait' | 'answer' | 'sleep' | 'child' | 'mismatch' | 'end';

export interface JournalEntry {
  n: number;
  at: string;
  kind: JournalKind;
  key: string;
  data: EntryData;
}

/** `value` is the input of a start, the result of a step or child, the question of a wait, the value of an answer. */
export interface EntryData {
  value?: Json;
  /** Thrown instead of a result. */
  error?: { code: string; message: string };
  /** Where in its body it was met, and the fingerprint of its input: both must be the same at a replay. */
  place?: string;
  input?: string;
  name?: string;
  version?: number;
  until?: string;
  answerId?: string;
  isOver?: 'timeout' | 'cancelled';
  status?: 'completed' | 'failed' | 'cancelled';
}

export type RunEnd =
  | { status: 'completed'; value: Json }
  | { status: 'failed'; code: string; message: string }
  | { status: 'cancelled'; reason: string }
  /** The run stands still and is not ended: another program may go on with it. */
  | { status: 'stuck'; code: 'journal_mismatch'; message: string };

export interface RunFilter {
  status?: 'open' | 'ended';
  name?: string;
}

export interface RunRow {
  runId: string;
  name: string;
  startedAt: string;
  endedAt?: string;
  end?: RunEnd;
}
