import { toReefError } from '../../protocol/errors.ts';
import type { AcceptOptions } from '../../protocol/worktrees.ts';
import type { Background } from '../background.ts';
import type { Deps } from '../deps.ts';
import type { StoredWorktree } from '../records.ts';
import { stampOf } from '../stamp.ts';

interface Watching {
  background: Background;
  pollMs: number;
  retry(id: string, options: AcceptOptions): Promise<unknown>;
}

/** Completes merges that wait for a clean checkout. */
export class PendingMerges {
  readonly #deps: Deps;
  readonly #watching: Watching;
  readonly #tried = new Map<string, string>();
  #isWatching = false;

  constructor(deps: Deps, watching: Watching) {
    this.#deps = deps;
    this.#watching = watching;
  }

  /** Looks again and again until no merge waits. */
  watch(): void {
    if (this.#isWatching || this.#waiting().length === 0) return;
    this.#isWatching = true;
    this.#watching.background.run('waiting for a clean checkout', async () => {
      while (this.#waiting().length > 0 && (await this.#watching.background.sleep(this.#watching.pollMs))) {
        for (const row of this.#waiting()) await this.#tryOne(row);
      }
      this.#isWatching = false;
    });
  }

  #waiting(): StoredWorktree[] {
    return this.#deps.records.open().filter(({ pending }) => pending?.whenClean);
  }

  /** Tries again only when something in the checkout has changed. */
  async #tryOne({ id, pending }: StoredWorktree): Promise<void> {
    if (!pending) return;
    try {
      const checkout = await this.#deps.git.locate(pending.checkout);
      const stamp = await stampOf(this.#deps.git, checkout);
      if (this.#tried.get(id) === stamp) return;
      await this.#watching.retry(id, { ...pending.options, whenClean: true, into: pending.target });
      this.#tried.set(id, stamp);
    } catch (error) {
      const { message } = toReefError(error);
      const isOver = this.#deps.records.get(id).pending === undefined;
      if (isOver) this.#deps.announce({ kind: 'accept_failed', worktreeId: id, message });
    }
  }
}
