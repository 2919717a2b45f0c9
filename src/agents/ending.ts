import { defined } from '../base/defined.ts';
import { errorTable } from '../protocol/error-table.ts';
import type { EventBody, EventOf } from '../protocol/events.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Adapter, Exit } from './adapter.ts';
import { closeTurn, flushNoise } from './effects.ts';
import type { JobRuntime } from './job-runtime.ts';
import type { JobTransaction } from './job-transaction.ts';
import type { OutboxDoc } from './outbox.ts';

const STDERR_TAIL = 2048;

/** How a process ended, as the wrapper wrote it down; `unknown` when it could not. */
export type ProcessEnd = { code: number; ceilingReached: boolean; at: string } | 'unknown';

/**
 * The one event that ends a launch. It follows from what ended the process, its exit code and the last turn. The code alone
 * says too little: agents answer SIGINT with 0, or exit with an HTTP status. The first rule that fits decides.
 */
export function terminalEvent(parts: {
  job: Job;
  runtime: JobRuntime;
  end: ProcessEnd;
  adapter: Pick<Adapter, 'finish'>;
}): EventBody {
  const { job, runtime, end } = parts;
  const { ending, turn } = runtime;
  const completed = (outcome: EventOf<'completed'>['payload']['outcome']) => completedEvent(parts, outcome);
  if (ending?.why === 'kill') return completed('killed');
  if (end === 'unknown') return errorEvent(parts, 'exit_unknown', 'the process is gone and left no exit code');
  if (ending?.fails) return errorEvent(parts, ending.fails.code, ending.fails.message);
  if (job.status === 'paused') return completed('ended');
  if (ending && turn.is === 'over') return completed(turn.outcome === 'interrupted' ? 'interrupted' : 'done');
  if (end.ceilingReached) return errorEvent(parts, 'ceiling', 'the job reached its time ceiling');
  const told = parts.adapter.finish(runtime.adapter, toExit(end.code, runtime.stderrTail));
  if (told) return errorEvent(parts, told.code, told.message);
  if (turn.is === 'failed') return errorEvent(parts, turn.code, turn.message);
  if (end.code === 0 && turn.is === 'over') return completed(turn.outcome);
  if (end.code === 0) return errorEvent(parts, 'agent_ended_early', 'the agent ended before its turn was over');
  const { signal } = toExit(end.code, '');
  return signal === null
    ? errorEvent(parts, 'agent_exit', `the agent exited with code ${end.code}`)
    : errorEvent(parts, 'agent_signalled', `the agent was ended by ${signal}`);
}

/** What is true of a job once its process is gone: nothing is open, its one last event is told, and no mail waits for it. */
export function endLaunch(tx: JobTransaction, end: ProcessEnd, adapter: Pick<Adapter, 'finish'>): void {
  closeTurn(tx, 'exit');
  flushNoise(tx);
  tx.emit(terminalEvent({ job: tx.job, runtime: tx.runtime, end, adapter }));
  noteEnd(tx, end);
}

function noteEnd(tx: JobTransaction, end: ProcessEnd): void {
  const { pid: _pid, pidStartTime: _start, bootId: _boot, ...rest } = tx.job;
  const exit = end === 'unknown' ? { code: null, signal: null } : toExit(end.code, '');
  const how = defined({ exitCode: exit.code, signal: exit.signal });
  tx.job = { ...rest, endedAt: end === 'unknown' ? tx.now() : end.at, ...how };
  tx.runtime.hasProcess = false;
  const staysPaused = tx.job.status === 'paused';
  for (const row of tx.storage.store.outbox.open<OutboxDoc>(tx.job.id)) {
    const isKept = staysPaused && row.doc.kind === 'message';
    tx.storage.store.outbox.move(row.key, isKept ? 'new' : 'failed');
  }
}

const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  6: 'SIGABRT',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
};

/** A shell tells death by signal n as exit code 128 + n. */
export function toExit(code: number, stderrTail: string): Exit {
  const signal = code > 128 ? (SIGNALS[code - 128] ?? null) : null;
  return { code: signal === null ? code : null, signal, stderrTail };
}

type Parts = Parameters<typeof terminalEvent>[0];

function exitFields({ end }: Parts): { exitCode?: number; signal?: string } {
  if (end === 'unknown') return {};
  const { code, signal } = toExit(end.code, '');
  return defined({ exitCode: code, signal: signal });
}

function completedEvent(parts: Parts, outcome: EventOf<'completed'>['payload']['outcome']): EventBody {
  const { job, runtime, end } = parts;
  const endedAt = end === 'unknown' ? Number.NaN : Date.parse(end.at);
  const startedAt = Date.parse(job.startedAt ?? job.createdAt);
  const durationMs = Number.isNaN(endedAt) ? 0 : Math.max(0, endedAt - startedAt);
  const left = { result: runtime.lastText, usage: job.usage, durationMs };
  return {
    type: 'completed',
    payload: { scope: 'process', outcome, ...left, ...exitFields(parts), derived: true },
  };
}

function errorEvent(parts: Parts, code: keyof typeof errorTable, message: string): EventBody {
  const stderrTail = parts.runtime.stderrTail.slice(-STDERR_TAIL) || undefined;
  const failure = { code, message, fatal: true, scope: 'process', retryable: errorTable[code].retryable } as const;
  const { toldError: told } = parts.runtime;
  const isTold = told?.code === code && told.message === message;
  return {
    type: 'error',
    payload: { ...failure, ...(isTold && { repeats: true }), ...exitFields(parts), ...defined({ stderrTail }) },
  };
}
