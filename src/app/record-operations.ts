import { findJob } from '../agents/find-job.ts';
import type { JobRuntime } from '../agents/job-runtime.ts';
import { jobDir } from '../agents/sandbox.ts';
import { usageSoFar } from '../agents/usage.ts';
import type { Clock } from '../base/clock.ts';
import type { Home } from '../base/home.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { type EventLog, type Page, parseCursor } from '../events/event-log.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, OperationOutput, OperationRequest, RecordCore } from '../protocol/operations.ts';
import type { UsageSum } from '../protocol/record-operations.ts';
import type { JobUsage } from '../store/job-table.ts';
import type { Store } from '../store/store.ts';
import type { RunSpec } from '../workflow/runs/spec.ts';
import { titleOf } from '../worktrees/queue.ts';
import type { HomeRetention } from './home-retention.ts';
import { readJobLog } from './job-log.ts';
import { addJob, nothingUsed, tokensOf } from './usage-sums.ts';

interface RecordDeps {
  home: Home;
  store: Store;
  log: EventLog;
  signal: ChangeSignal;
  retention: Pick<HomeRetention, 'prune'>;
  clock: Clock;
  redact<T>(value: T): T;
  /** The secrets of the user's configuration, as they are now and as they were. */
  secrets(): readonly string[];
}

type Row = OperationOutput<'usage'>['rows'][number];

/** What is recorded of all jobs: what they used, what they wrote, and what happened. */
export class RecordOperations implements RecordCore {
  readonly #deps: RecordDeps;

  constructor(deps: RecordDeps) {
    this.#deps = deps;
  }

  async usage({ by, since, limit }: OperationRequest<'usage'>): Promise<OperationOutput<'usage'>> {
    const { store, redact } = this.#deps;
    const first = since === undefined ? '' : timeOf(since);
    const live = new Map(store.jobs.live<JobRuntime>().map((record) => [record.job.id, usageSoFar(record)]));
    const all = store.jobs.usages();
    const keyOf = this.#keyOf(by, all);
    const sums = new Map<string, UsageSum>();
    let totals = nothingUsed;
    for (const job of all) {
      if (job.createdAt < first) continue;
      const used = live.get(job.id) ?? job.usage;
      const key = keyOf(job);
      sums.set(key, addJob(sums.get(key) ?? nothingUsed, used));
      totals = addJob(totals, used);
    }
    const rows = [...sums].map(([key, sum]): Row => ({ key, ...sum }));
    rows.sort((a, b) => (by === 'day' ? (a.key < b.key ? 1 : -1) : tokensOf(b) - tokensOf(a)));
    const shown = rows.slice(0, limit).map((row) => (by === 'run' ? { ...row, ...this.#titleOf(row.key) } : row));
    return redact({ rows: shown, totals, leftOut: rows.length - shown.length });
  }

  #keyOf(by: OperationRequest<'usage'>['by'], all: readonly JobUsage[]): (job: JobUsage) => string {
    const { store } = this.#deps;
    switch (by) {
      case 'agent':
        return ({ agent }) => agent;
      case 'model':
        return ({ id, model }) => model ?? store.events.modelOf(id) ?? '';
      case 'day':
        return ({ createdAt }) => localDay(new Date(createdAt));
      case 'run':
        return runOfJob(all);
    }
  }

  #titleOf(runId: string): Pick<Row, 'title'> {
    const run = this.#deps.store.runs.get<RunSpec>(runId);
    return run ? { title: titleOf(run.doc.task) } : {};
  }

  async job_log({ id, ...asked }: OperationRequest<'job_log'>, caller: Caller): Promise<OperationOutput<'job_log'>> {
    const { store, home, secrets } = this.#deps;
    const { job } = findJob(store, id, caller);
    return { agentId: job.id, ...(await readJobLog(jobDir(home.dir, job.id), asked, secrets())) };
  }

  async events(
    { since, limit, waitMs }: OperationRequest<'events'>,
    _caller: Caller,
    signal: AbortSignal,
  ): Promise<OperationOutput<'events'>> {
    const { log, clock } = this.#deps;
    const after = log.after(since);
    const read = () => log.slice({ since: String(after), limit });
    const page = await this.#deps.signal.until(read, {
      isMet: ({ events }) => events.length > 0,
      timeoutMs: waitMs,
      signal,
      clock,
    });
    return upToGap(log, after, page);
  }

  prune(request: OperationRequest<'prune'>): Promise<OperationOutput<'prune'>> {
    return this.#deps.retention.prune(request);
  }
}

/** Numbers have no gaps but where events are no longer kept: a page says so at its beginning, and ends before the next one. */
function upToGap(log: EventLog, after: number, page: Page): OperationOutput<'events'> {
  const first = page.events[0]?.seq ?? after + 1;
  const hole = page.events.findIndex(({ seq }, index) => seq !== first + index);
  const events = hole < 0 ? page.events : page.events.slice(0, hole);
  const nextCursor = hole < 0 ? page.nextCursor : log.cursor(first + hole - 1);
  const gap = first > after + 1 ? { gap: { from: after + 1, to: first - 1 } } : {};
  return { events, nextCursor, truncated: page.truncated || hole >= 0, ...gap };
}

function timeOf(since: string): string {
  const cursor = parseCursor(since);
  if ('at' in cursor) return cursor.at;
  throw new ReefError('bad_cursor', `since: ${since} is not an ISO-8601 time`);
}

/** In the time of this machine, as a person would say it. */
function localDay(at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The run that a job works for, or that a job above it works for. Parents are older than their children. */
function runOfJob(all: readonly JobUsage[]): (job: JobUsage) => string {
  const runs = new Map<string, string>();
  for (const { id, parentId, runId } of all) runs.set(id, runId ?? runs.get(parentId ?? '') ?? '');
  return ({ id }) => runs.get(id) ?? '';
}
