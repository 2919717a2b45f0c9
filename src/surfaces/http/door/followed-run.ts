import { type Clock, systemClock } from '../../../base/clock.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';

type Follow = (after: number) => Promise<OperationOutput<'run_follow'>>;

/** However fast a run goes, nobody reads it faster. */
const PAUSE_MS = 100;

/** The run that one reader of a stream looks at: what becomes different in it is told by `seq`, at most ten times a second. */
export class FollowedRun {
  readonly #follow: Follow;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #after: number;
  #standing: string | undefined;
  #mayDiffer = true;
  #dueAt = 0;

  constructor(follow: Follow, after: number, clock: Pick<Clock, 'monotonicMs'> = systemClock) {
    this.#follow = follow;
    this.#clock = clock;
    this.#after = after;
  }

  /** Undefined when there is nothing to tell. */
  get dueInMs(): number | undefined {
    return this.#mayDiffer ? Math.max(0, this.#dueAt - this.#clock.monotonicMs()) : undefined;
  }

  /** As a message of the stream, and empty when nothing is different or the last one was a moment ago. */
  async news(hasChanges: boolean): Promise<string> {
    this.#mayDiffer ||= hasChanges;
    if (this.dueInMs !== 0) return '';
    this.#mayDiffer = false;
    const told = await this.#follow(this.#after);
    const standing = JSON.stringify(told.run);
    if (told.differences.length === 0 && standing === this.#standing) return '';
    this.#after = told.seq;
    this.#standing = standing;
    this.#dueAt = this.#clock.monotonicMs() + PAUSE_MS;
    return `event: run\ndata: ${JSON.stringify(told)}\n\n`;
  }
}
