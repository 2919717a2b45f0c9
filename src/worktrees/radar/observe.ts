import { isDeepStrictEqual } from 'node:util';
import type { Deps } from '../deps.ts';
import { addEntries, isPlanned, touchedBy } from '../plan/plan-path.ts';
import { namesOf } from './compare.ts';
import type { Picture } from './radar.ts';

/** Files that are changed without being planned join the plan, so that others see them coming; reverted, they leave. */
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

/** One notice for each two worktrees that collide, also across restarts and by looks at the same time. */
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
