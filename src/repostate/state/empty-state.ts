import type { RepoState } from '../../protocol/repostate.ts';

/** Before the first event: nothing is known, and the snapshot says so. */
export function emptyState(workDir: string, storyId: string): RepoState {
  return {
    version: 1,
    workDir,
    storyId,
    files: [],
    filesOmitted: 0,
    openTasks: [],
    lastUpdated: '',
    seq: 0,
    base: '',
    head: '',
    branch: null,
    fingerprint: '',
    source: 'tools',
    runs: [],
    checks: [],
    notes: [],
  };
}
