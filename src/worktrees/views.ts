import type { WorktreeView } from '../protocol/worktrees.ts';
import { healthOf } from './care/health.ts';
import type { Deps } from './deps.ts';
import { type QueueSettings, queuePlaces } from './dispatch.ts';
import { driftOf } from './plan/drift.ts';
import { namesOf } from './radar/compare.ts';
import type { Picture } from './radar/radar.ts';
import { type StoredWorktree, toRecord } from './record.ts';

export interface Seen {
  settings: QueueSettings;
  /** The last look of the radar. */
  picture: Picture | undefined;
}

export async function viewsOf(
  deps: Deps,
  rows: readonly StoredWorktree[],
  { settings, picture }: Seen,
): Promise<WorktreeView[]> {
  const places = queuePlaces(deps, settings);
  const changes = new Map(picture?.subjects.map(({ row, sample }) => [row.id, sample?.changes.flatMap(namesOf)]));
  const toView = async (row: StoredWorktree): Promise<WorktreeView> => {
    const changed = changes.get(row.id);
    const { pending, failure, keptOn, createdAt, setup } = row;
    return {
      ...toRecord(row),
      createdAt,
      health: await healthOf(deps, row),
      overlap: [...(picture?.clashes.get(row.id) ?? [])],
      queue: places.get(row.id) ?? null,
      drift: changed ? driftOf(row.changePlan, changed, deps.fold) : null,
      setup,
      ...(pending && { pending: pendingView(pending) }),
      ...(failure && { failure }),
      ...(keptOn !== undefined && { ref: keptOn }),
    };
  };
  return Promise.all(rows.map(toView));
}

function pendingView({ commit, ref, target, checkout, files, whenClean }: NonNullable<StoredWorktree['pending']>) {
  return { commit, ref, target, checkout, files, whenClean };
}
