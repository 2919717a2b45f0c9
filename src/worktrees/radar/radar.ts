import { isDeepStrictEqual } from 'node:util';
import { diffRanges, type FileRanges } from '../../git/diff.ts';
import { mergeAll } from '../../git/merge.ts';
import type { Oid } from '../../git/ref-name.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Clash } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { mergeBase } from '../merge/merge-commit.ts';
import { addEntries, changedFiles, isPlanned, joined, meetings, type Touched, touchedBy } from '../plan.ts';
import type { StoredWorktree } from '../records.ts';
import { hotFiles, namesOf } from './compare.ts';
import { type Sample, Samples } from './samples.ts';

/** A worktree as the radar sees it in one pass. */
export interface Subject {
  row: StoredWorktree;
  sample: Sample | undefined;
  /** Plan and real changes together. */
  touched: Touched;
}

export interface Picture {
  subjects: readonly Subject[];
  /** Hot and soft, by worktree. */
  clashes: ReadonlyMap<string, readonly Clash[]>;
  /** Worktrees that could not be looked at, and why. */
  problems: ReadonlyMap<string, string>;
}

interface RadarSettings {
  leastMs: number;
  overlapThreshold: number;
}

type Pair = readonly [Subject, Subject];

const SEEN = new Set(['queued', 'creating', 'running', 'held', 'accepting']);

/** Compares every worktree with every other one. What did not change is not computed again. */
export class Radar {
  readonly #deps: Deps;
  readonly #settings: RadarSettings;
  readonly #samples: Samples;
  #conflicts = new Map<string, readonly string[]>();
  #ranges = new Map<string, FileRanges[]>();
  #bases = new Map<string, Oid>();

  constructor(deps: Deps, settings: RadarSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#samples = new Samples(deps, settings.leastMs);
  }

  /** One pass at a time: captures of one worktree share a ref. */
  look(): Promise<Picture> {
    return this.#deps.locks.run('radar', async () => {
      const { subjects, problems } = await this.#gather();
      const pairs = subjects.flatMap((one, index) => subjects.slice(index + 1).map((other): Pair => [one, other]));
      await this.#mergeChanged(pairs);
      const clashes = new Map<string, Clash[]>(subjects.map(({ row }) => [row.id, []]));
      for (const [one, other] of pairs) {
        for (const found of await this.#compare(one, other)) {
          clashes.get(one.row.id)?.push({ worktreeId: other.row.id, ...found });
          clashes.get(other.row.id)?.push({ worktreeId: one.row.id, ...found });
        }
      }
      this.#forgetUnused(subjects);
      return { subjects, clashes, problems };
    });
  }

  async #gather() {
    const { records, fold } = this.#deps;
    const problems = new Map<string, string>();
    const subjects: Subject[] = [];
    // The branches of a fork are their parent's own business.
    const isSeen = ({ status, parentId }: StoredWorktree) => SEEN.has(status) && parentId === undefined;
    for (const row of records.open().filter(isSeen)) {
      const sample = await this.#samples.take(row).catch((error: unknown) => {
        problems.set(row.id, toReefError(error).message);
        return undefined;
      });
      const planned = touchedBy(
        row.changePlan.map(({ path }) => path),
        fold,
      );
      const changed = changedFiles(sample?.changes.flatMap(namesOf) ?? [], fold);
      subjects.push({ row, sample, touched: joined(planned, changed) });
    }
    return { subjects, problems };
  }

  /** Tries all new merges in one process. */
  async #mergeChanged(pairs: readonly Pair[]): Promise<void> {
    const { git, checkout } = this.#deps;
    const wanted = pairs.flatMap(([one, other]) => {
      const key = keyOf(one.sample, other.sample);
      if (key === undefined || this.#conflicts.has(key)) return [];
      return [{ key, ours: one.sample?.commit ?? '', theirs: other.sample?.commit ?? '' }];
    });
    if (wanted.length === 0) return;
    // Where a repository names a merge driver git makes short-lived files: not in the user's checkout if we can help it.
    const ours = pairs.flat().find(({ sample }) => sample?.worktree)?.sample?.worktree;
    const results = await mergeAll(git, ours ?? checkout, wanted);
    for (const [index, { key }] of wanted.entries()) {
      const { isClean = true, conflicts = [] } = results[index] ?? {};
      this.#conflicts.set(key, isClean ? [] : conflicts);
    }
  }

  async #compare(one: Subject, other: Subject): Promise<Omit<Clash, 'worktreeId'>[]> {
    const { fold } = this.#deps;
    const clashes: Omit<Clash, 'worktreeId'>[] = [];
    const hot = await this.#hotFiles(one, other);
    if (hot.length > 0) clashes.push({ tier: 'hot', files: hot });
    const isHot = new Set(hot.map(({ path }) => fold(path)));
    const shared = meetings(one.touched, other.touched);
    const soft = shared.filter((path) => !isHot.has(path)).map((path) => ({ path }));
    if (soft.length > 0 && shared.length >= this.#settings.overlapThreshold)
      clashes.push({ tier: 'soft', files: soft });
    return clashes;
  }

  async #hotFiles({ sample: one }: Subject, { sample: other }: Subject): Promise<Clash['files']> {
    const key = keyOf(one, other);
    if (key === undefined || !one || !other) return [];
    const base = await this.#baseOf(one.from, other.from);
    const ranges = async ({ commit }: Sample) => (base === undefined ? [] : this.#rangesOf(base, commit));
    const conflicts = this.#conflicts.get(key) ?? [];
    return hotFiles({ one: await ranges(one), other: await ranges(other), conflicts, fold: this.#deps.fold });
  }

  async #baseOf(one: Oid, other: Oid): Promise<Oid | undefined> {
    const key = [one, other].sort().join(' ');
    const known = this.#bases.get(key);
    if (known !== undefined) return known;
    const base = await mergeBase(this.#deps.git, this.#deps.checkout, [one, other]);
    if (base !== undefined) this.#bases.set(key, base);
    return base;
  }

  async #rangesOf(base: Oid, commit: Oid): Promise<FileRanges[]> {
    const key = `${base} ${commit}`;
    const known = this.#ranges.get(key);
    if (known) return known;
    const ranges = await diffRanges(this.#deps.git, this.#deps.checkout, { from: base, to: commit });
    this.#ranges.set(key, ranges);
    return ranges;
  }

  #forgetUnused(subjects: readonly Subject[]): void {
    const samples = subjects.flatMap(({ sample }) => sample ?? []);
    const [commits, bases] = [new Set(samples.map(({ commit }) => commit)), new Set(samples.map(({ from }) => from))];
    const both = (key: string, known: ReadonlySet<string>) => key.split(' ').every((oid) => known.has(oid));
    this.#conflicts = new Map([...this.#conflicts].filter(([key]) => both(key, commits)));
    this.#bases = new Map([...this.#bases].filter(([key]) => both(key, bases)));
    this.#ranges = new Map([...this.#ranges].filter(([key]) => commits.has(key.split(' ')[1] ?? '')));
    this.#samples.keepOnly(new Set(subjects.map(({ row }) => row.id)));
  }
}

/** Undefined if one of the two has changed nothing. The order does not matter. */
function keyOf(one: Sample | undefined, other: Sample | undefined): string | undefined {
  if (!one?.changes.length || !other?.changes.length) return undefined;
  return [one.commit, other.commit].sort().join(' ');
}

/** Unplanned changes join the plan, so that others see them; reverted, they leave it. */
export function recordObserved({ records, fold }: Deps, { subjects }: Picture): void {
  for (const { row, sample } of subjects) {
    if (!sample || row.status !== 'running') continue;
    const planOf = (entries: typeof row.changePlan) => {
      const meant = entries.filter(({ origin }) => origin !== 'observed');
      const planned = touchedBy(
        meant.map(({ path }) => path),
        fold,
      );
      const unplanned = sample.changes.flatMap(namesOf).filter((path) => !isPlanned(planned, fold(path)));
      return addEntries(meant, unplanned, 'observed').entries;
    };
    if (isDeepStrictEqual(planOf(row.changePlan), row.changePlan)) continue;
    records.change(row.id, (now) => ({ ...now, changePlan: planOf(now.changePlan) }));
  }
}

/** Announces each pair of colliding worktrees once, also across restarts. */
export function announceHot({ records, announce }: Deps, { subjects, clashes }: Picture): void {
  for (const { row } of subjects) {
    const hot = (clashes.get(row.id) ?? []).filter(({ tier, worktreeId }) => tier === 'hot' && row.id < worktreeId);
    const { announced } = records.get(row.id);
    const news = hot.filter(({ worktreeId }) => !announced.includes(worktreeId));
    if (news.length === 0) continue;
    const ids = news.map(({ worktreeId }) => worktreeId);
    records.change(row.id, (now) => ({ ...now, announced: [...now.announced, ...ids] }));
    for (const { worktreeId, files } of news) {
      announce({ kind: 'hot_clash', worktrees: [row.id, worktreeId], files: files.map(({ path }) => path) });
    }
  }
}
