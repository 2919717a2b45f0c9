import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { Durable, StepScope } from '../durable/durable-engine.ts';
import type { WorkflowPorts } from './ports.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
const MOST_TRIES = 10;

/** What went wrong, as the journal keeps it. */
export interface Crash {
  message: string;
  stack: string;
  /** Of the error table, where it is one of ours. */
  code?: string;
}
export type Tried<T> = { ok: T } | { crash: Crash };

/** A step whose result is JSON by construction; the one place that tells the compiler so. */
export function recordStep<T>(
  durable: Durable,
  { key, input }: { key: string; input: unknown },
  fn: (scope: StepScope) => Promise<T>,
): Promise<T> {
  const work = fn as unknown as (scope: StepScope) => Promise<Json>;
  return durable.step(key, input as Json, work) as unknown as Promise<T>;
}

/** A crash is a result too: no run ends because something it called threw. What was let go of has none. */
export async function tried<T>(
  ports: Pick<WorkflowPorts, 'clock'>,
  { abort }: Pick<StepScope, 'abort'>,
  work: () => Promise<T>,
): Promise<Tried<T>> {
  try {
    return { ok: await withRetries(ports, abort, work) };
  } catch (error) {
    if (abort.aborted) throw error;
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    return { crash: { message, stack, ...(error instanceof ReefError && { code: error.code }) } };
  }
}

/** What the table calls retryable is tried again, with pauses that double to 5 min; the rest is final. */
async function withRetries<T>(
  { clock }: Pick<WorkflowPorts, 'clock'>,
  abort: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1, pause = FIRST_PAUSE_MS; ; tries++, pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ReefError && error.retryable) || tries === MOST_TRIES) throw error;
      await clock.sleep(pause, abort);
    }
  }
}
