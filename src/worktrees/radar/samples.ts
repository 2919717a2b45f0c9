import { capture } from '../../git/capture.ts';
import type { Checkout } from '../../git/checkout.ts';
import { diffTrees, type FileChange } from '../../git/diff.ts';
import type { Oid } from '../../git/ref-name.ts';
import type { Deps } from '../deps.ts';
import { findKept } from '../keep/kept.ts';
import { dropRefs } from '../keep/remove.ts';
import { refs } from '../layout.ts';
import { currentTip } from '../make/checks.ts';
import { mergeBase } from '../merge/merge-commit.ts';
import type { StoredWorktree } from '../records.ts';
import { folderOf, openWorktree } from '../registry.ts';
import { stampOf } from '../stamp.ts';

/** The work of a worktree at one moment. */
export interface Sample {
  commit: Oid;
  tree: Oid;
  /** What its own changes are counted from. */
  from: Oid;
  changes: FileChange[];
  /** Absent while it is held. */
  worktree?: Checkout;
}

interface Entry {
  stamp: string;
  takenMs: number;
  tip: Oid;
  sample: Sample;
}

const PUT_AWAY: readonly StoredWorktree['status'][] = ['accepted', 'discarded', 'held'];

/** The last capture of each worktree, taken again only when files changed, at most every two seconds. */
export class Samples {
  readonly #deps: Deps;
  readonly #leastMs: number;
  readonly #last = new Map<string, Entry>();

  constructor(deps: Deps, leastMs: number) {
    this.#deps = deps;
    this.#leastMs = leastMs;
  }

  /** Undefined if it has no work yet, or none any more. */
  async take(row: StoredWorktree): Promise<Sample | undefined> {
    if (row.status === 'held') return this.#takeHeld(row);
    if (row.status !== 'running' && row.status !== 'accepting') return undefined;
    const { git, checkout, clock } = this.#deps;
    const last = this.#last.get(row.id);
    if (last && clock.monotonicMs() - last.takenMs < this.#leastMs) return last.sample;
    const known = last?.sample.worktree;
    if (known) await this.#deps.copies.settle(known);
    const worktree = known ?? (await openWorktree(this.#deps, folderOf(row)));
    const [stamp, tip] = [await stampOf(git, worktree), await currentTip(git, checkout, row.base)];
    const takenMs = clock.monotonicMs();
    const sample = last?.stamp === stamp && last.tip === tip ? last.sample : await this.#capture(row, worktree, tip);
    if (sample) this.#last.set(row.id, { stamp, takenMs, tip, sample });
    return sample;
  }

  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#last.keys()) if (!ids.has(id)) this.#last.delete(id);
  }

  async #capture(row: StoredWorktree, worktree: Checkout, tip: Oid): Promise<Sample | undefined> {
    const { git, clock, records } = this.#deps;
    const ref = refs.capture(row.id);
    const { commit, tree, parent } = await capture(git, worktree, {
      ref,
      message: `Reef saw ${row.title}`,
      at: clock.now(),
    });
    // Put away while it was looked at, it may have dropped its refs before this one was there.
    if (PUT_AWAY.includes(records.get(row.id).status)) {
      await dropRefs(this.#deps, [ref]);
      return undefined;
    }
    const from = (await mergeBase(git, worktree, [parent, tip])) ?? row.base.commit;
    return { commit, tree, from, worktree, changes: await diffTrees(git, worktree, { from, to: commit }) };
  }

  async #takeHeld(row: StoredWorktree): Promise<Sample> {
    const { git, checkout } = this.#deps;
    const tip = await currentTip(git, checkout, row.base);
    const { commit, tree, head } = await findKept(this.#deps, row.keptOn ?? refs.held(row.id));
    const last = this.#last.get(row.id);
    if (last?.stamp === commit && last.tip === tip) return last.sample;
    const from = (await mergeBase(git, checkout, [head, tip])) ?? row.base.commit;
    const sample = { commit, tree, from, changes: await diffTrees(git, checkout, { from, to: commit }) };
    this.#last.set(row.id, { stamp: commit, takenMs: 0, tip, sample });
    return sample;
  }
}
