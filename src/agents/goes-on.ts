import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Store } from '../store/store.ts';
import type { JobRuntime } from './job-runtime.ts';

type Paused = Pick<Job, 'status' | 'reason' | 'resumeAt' | 'startedAt' | 'endedAt' | 'launch' | 'sessionId'>;

const FIRST_TRY_MS = 1_000;
const FIRST_TRY_AFTER_OUTAGE_MS = 60_000;
const LONGEST_MS = 3_600_000;
/** After so many launches a person has to look. */
const MOST_LAUNCHES = 20;

/**
 * When a paused job goes on by itself: as soon as the limit of its provider resets, or some time after an outage. Each launch
 * that comes to nothing makes the next one later. Undefined: it waits for a person.
 */
export function goesOnAt({ status, reason, resumeAt, launch, sessionId, ...job }: Paused): Date | undefined {
  const since = job.endedAt ?? job.startedAt; // its process may be about to end
  if (status !== 'paused' || since === undefined || sessionId === undefined || launch > MOST_LAUNCHES) return undefined;
  const isLimit = reason === 'rate_limit' && resumeAt !== undefined;
  if (!isLimit && reason !== 'outage') return undefined;
  const first = isLimit ? FIRST_TRY_MS : FIRST_TRY_AFTER_OUTAGE_MS;
  const soonest = Date.parse(since) + Math.min(first * 2 ** (launch - 1), LONGEST_MS);
  return new Date(isLimit ? Math.max(soonest, Date.parse(resumeAt)) : soonest);
}

interface GoingOnDeps {
  store: Store;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  resume(job: Job): Promise<unknown>;
}

/** Jobs of blocks are left to their runs, which know when a visit goes on. */
function whoGoOn(store: Store): { job: Job; at: Date }[] {
  return store.jobs.live<JobRuntime>().flatMap(({ job }) => {
    const at = job.status === 'paused' && !store.blocks.get(job.id) ? goesOnAt(job) : undefined;
    return at ? [{ job, at }] : [];
  });
}

export function countGoingOn(store: Store): number {
  return whoGoOn(store).length;
}

/** Wakes paused jobs when their time has come, after a restart of the daemon too. */
export class GoingOn {
  readonly #deps: GoingOnDeps;
  readonly #resuming = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(deps: GoingOnDeps) {
    this.#deps = deps;
  }

  /** Jobs have changed, or time has passed. Never fails: the next look tries again. */
  look(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    try {
      this.#wake();
    } catch (error) {
      this.#deps.log.warn('paused jobs could not be looked at', { error });
    }
  }

  #wake(): void {
    const now = this.#deps.clock.now().getTime();
    const waiting = whoGoOn(this.#deps.store).filter(({ job }) => !this.#resuming.has(job.id));
    for (const { job, at } of waiting) if (at.getTime() <= now) void this.#resume(job);
    const later = waiting.map(({ at }) => at.getTime() - now).filter((ms) => ms > 0);
    // The wall clock may be set meanwhile, so it is looked at now and then.
    if (later.length > 0)
      this.#timer = setTimeout(() => this.look(), Math.min(...later, FIRST_TRY_AFTER_OUTAGE_MS)).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #resume(job: Job): Promise<void> {
    this.#resuming.add(job.id);
    try {
      await this.#deps.resume(job);
      this.#resuming.delete(job.id);
    } catch (error) {
      this.#deps.log.warn('a paused job does not go on yet', { job: job.id, error });
      const again = () => {
        this.#resuming.delete(job.id);
        this.look();
      };
      setTimeout(again, FIRST_TRY_AFTER_OUTAGE_MS).unref();
    }
  }
}
