import { ReefError } from '../../../../src/protocol/errors.ts';
import type { Json } from '../../../../src/protocol/workflow.ts';
import type { Body } from '../../../../src/workflow/durable/durable.ts';
import type { DurableEngine, RunEnd } from '../../../../src/workflow/durable/durable-engine.ts';
import type { JournalEntry } from '../../../../src/workflow/durable/journal.ts';

/** What an implementation lends the suite. */
export interface Harness {
  /** An engine over the same storage as the others of this harness. */
  open(): Promise<DurableEngine>;
  /** This engine loses its claim: what it still has under way may record nothing. */
  lose(engine: DurableEngine): Promise<void>;
  /** How often the long loop goes round. */
  visits: number;
  now(): Date;
  /** Resolves when somebody waits for time to pass. */
  sleeping(): Promise<void>;
  /** Lets time pass for engines and waiters. */
  advance(ms: number): Promise<void>;
  /** Resolves when the condition holds; fails after a bound. */
  until(condition: () => Promise<boolean> | boolean): Promise<void>;
}

export interface ConformanceCase {
  name: string;
  ids: readonly ['W-70' | 'W-71' | 'W-72' | 'W-73' | 'W-74' | 'W-75', ...('F-02' | 'F-03' | 'F-05' | 'F-06')[]];
  run(harness: Harness): Promise<void>;
}

export const ID = 'run-1';
export type Scope = Parameters<Body>[0];

export async function entriesOf(engine: DurableEngine, runId = ID): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of engine.history(runId)) entries.push(entry);
  return entries;
}

export const keysOf = async (engine: DurableEngine) =>
  (await entriesOf(engine)).map(({ kind, key }) => `${kind} ${key}`.trim());
/** Started, at its wait, lost, taken up by another engine of the same storage and answered there. */
export async function answeredAfterLoss(
  harness: Harness,
  define: (engine: DurableEngine) => void,
  wait: string,
): Promise<DurableEngine> {
  const first = await harness.open();
  define(first);
  await first.start('w', ID, null);
  await harness.until(async () => (await keysOf(first)).includes(`wait ${wait}`));
  await harness.lose(first);
  const second = await harness.open();
  define(second);
  await second.recover();
  await second.answer(ID, wait, 'a', null);
  return second;
}

export const completed = (value: Json): RunEnd => ({ status: 'completed', value });
export const forEver = (abort: AbortSignal) =>
  new Promise<never>((_, reject) => abort.addEventListener('abort', () => reject(abort.reason), { once: true }));

export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof ReefError ? error.code : String(error);
}
