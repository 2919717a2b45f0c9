import type { Json } from '../../protocol/workflow.ts';
import type { Body } from './durable.ts';
import type { EntryData, JournalEntry } from './journal.ts';

export type RunEnd =
  | { status: 'completed'; value: Json }
  | { status: 'failed'; code: string; message: string }
  | { status: 'cancelled'; reason: string }
  /** The run stands still and is not ended: the program that wrote its journal may go on with it. */
  | { status: 'stuck'; code: 'journal_mismatch'; message: string };

export interface RunRow {
  runId: string;
  status: 'running' | Exclude<RunEnd['status'], 'stuck'>;
  startedAt: string;
}

/**
 * Runs bodies whose steps are recorded, so that a run goes on where it was after a kill. One engine serves one home; the
 * fleet has another behind the same interface, and only the composition root knows which one runs.
 */
export interface DurableEngine {
  define(name: string, body: Body, options?: { version: number }): void;
  /** A known id is joined; with another input it is refused (`run_exists`). */
  start(name: string, runId: string, input: Json): Promise<void>;
  /** Stored before it is acknowledged. The first answer to a key wins; one that came before its wait is found. */
  answer(runId: string, key: string, answerId: string, value: Json): Promise<'taken' | 'duplicate' | 'late'>;
  /** Reaches children; twice is once. Resolves when what was under way has let go. */
  cancel(runId: string, reason: string): Promise<void>;
  /** Takes up every unfinished run that is this engine's and not under way here. */
  recover(): Promise<string[]>;
  history(runId: string, after?: number): AsyncIterable<JournalEntry>;
  result(runId: string, options?: { abort?: AbortSignal }): Promise<RunEnd>;
  /** In the order of their ids, so that a page is the same whatever begins or ends meanwhile. */
  list(filter: { status?: RunRow['status'] }, cursor?: string): Promise<{ runs: RunRow[]; next?: string }>;
  /** Ends nothing: a run goes on where it was when somebody recovers it. */
  close(): Promise<void>;
}

export function endOf({ status, value = null, error }: EntryData): RunEnd {
  if (status === 'cancelled') return { status, reason: String(value) };
  if (status === 'failed') return { status, code: error?.code ?? 'internal', message: error?.message ?? '' };
  return { status: 'completed', value };
}
