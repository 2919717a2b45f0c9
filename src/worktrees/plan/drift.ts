import type { Drift, PlanEntry } from '../../protocol/worktrees.ts';
import { changedFiles, type Fold, isPlanned, meetings, touchedBy } from './plan-path.ts';

/** The real diff against the plan. What git saw is no plan; a task that declared none cannot drift. */
export function driftOf(plan: readonly PlanEntry[], changed: readonly string[], fold: Fold): Drift {
  const meant = plan.filter(({ origin }) => origin !== 'observed').map(({ path }) => path);
  if (meant.length === 0) return { unplanned: [], untouched: [] };
  const planned = touchedBy(meant, fold);
  const real = changedFiles(changed, fold);
  return {
    unplanned: changed.filter((path) => !isPlanned(planned, fold(path))),
    untouched: meant.filter((path) => meetings(touchedBy([path], fold), real).length === 0),
  };
}
