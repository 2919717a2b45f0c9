import { ReefError } from '../../protocol/errors.ts';
import type { JobEnd } from './job-port.ts';

export interface Child {
  readonly id: string;
  readonly agent: string;
  readonly task: string;
  /** The task of the parent's queue that it works on. */
  readonly taskId: string | undefined;
  /** Resolves when it has ended and its task is settled. */
  readonly over: Promise<JobEnd>;
  end?: JobEnd;
  /** Its parent has its result, or gave it up. */
  isCollected: boolean;
}

/** The agents one agent started, in order. */
export class Children {
  readonly #children = new Map<string, Child>();
  /** Children whose job is being made. They count as busy, so that two cannot take the last place. */
  #claimed = 0;

  add(child: Child): void {
    this.#children.set(child.id, child);
  }

  all(): Child[] {
    return [...this.#children.values()];
  }

  running(): Child[] {
    return this.all().filter(({ end }) => end === undefined);
  }

  uncollected(): Child[] {
    return this.all().filter(({ isCollected }) => !isCollected);
  }

  get busy(): number {
    return this.running().length + this.#claimed;
  }

  claim(): () => void {
    this.#claimed += 1;
    return () => {
      this.#claimed -= 1;
    };
  }

  /** Finds a child by id, by the unique beginning of an id, by `@last`, or by agent name if only one child is meant. */
  find(name: string): Child {
    const all = this.all();
    const wanted = name.trim();
    const exact = this.#children.get(wanted) ?? (wanted === '@last' ? all.at(-1) : undefined);
    if (exact) return exact;
    const byPrefix = wanted === '' ? [] : all.filter(({ id }) => id.startsWith(wanted.toUpperCase()));
    const byName = all.filter(({ agent }) => agent === wanted);
    const open = byName.filter(({ isCollected }) => !isCollected);
    const found = [byPrefix, open, byName].find(({ length }) => length > 0) ?? [];
    const [only] = found;
    if (only && found.length === 1) return only;
    const known = all.map(({ id, agent }) => `${id} (${agent})`).join(', ') || 'none';
    const what = found.length > 1 ? 'Several agents are meant by' : 'You started no agent';
    throw new ReefError('job_not_found', `${what} ${JSON.stringify(name)}; yours are: ${known}`);
  }
}
