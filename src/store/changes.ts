import type { Change } from '../protocol/events.ts';

/** Of more things the change that is longest ago is forgotten. */
const MOST = 1_000;
const KINDS: readonly Change['kind'][] = ['run', 'worktree', 'inbox'];

/**
 * What was written lately, each thing once. Readers pull by version, as they pull events by cursor, so a slow one fills no
 * buffer; one that comes too late is told to look at everything again.
 */
export class Changes {
  readonly #latest = new Map<string, { change: Change; version: number }>();
  #version = 0;
  #forgotten = 0;

  get version(): number {
    return this.#version;
  }

  tell(change: Change): void {
    this.#version += 1;
    const key = `${change.kind} ${change.id ?? ''}`;
    this.#latest.delete(key);
    this.#latest.set(key, { change, version: this.#version });
    const [oldest] = this.#latest;
    if (this.#latest.size <= MOST || !oldest) return;
    this.#latest.delete(oldest[0]);
    this.#forgotten = oldest[1].version;
  }

  after(version: number): Change[] {
    if (version < this.#forgotten) return KINDS.map((kind) => ({ kind }));
    return [...this.#latest.values()].filter((each) => each.version > version).map(({ change }) => change);
  }
}
