import { isOver } from '../../../../src/protocol/is-over.ts';
import type { Clash, WorktreeView } from '../../../../src/protocol/worktrees.ts';
import { plain } from '../../format.ts';
import { jobs, runs } from '../../store/home.ts';
import type { Said } from '../../widgets/badge.tsx';

const STATES: Record<WorktreeView['status'], Said> = {
  queued: { tone: 'waits', text: 'Queued' },
  creating: { tone: 'works', text: 'Being made' },
  running: { tone: 'needs', text: 'Ready to look at' },
  held: { tone: 'calm', text: 'Put aside' },
  accepting: { tone: 'works', text: 'Being merged' },
  accepted: { tone: 'good', text: 'Merged' },
  discarded: { tone: 'calm', text: 'Discarded' },
  lost: { tone: 'bad', text: 'Lost' },
};

export function sayWorktree(view: WorktreeView): Said {
  if (view.failure || view.setup.state === 'failed') return { tone: 'bad', text: 'Failed' };
  if (view.pending) return { tone: 'waits', text: 'Merge waits' };
  if (view.status !== 'running') return STATES[view.status];
  if (isAtWork(view.id)) return { tone: 'works', text: 'At work' };
  return view.seen?.files === 0 ? { tone: 'calm', text: 'No changes' } : STATES.running;
}

/** An agent or a run is at work in it: its files may change at any moment. */
export function isAtWork(id: string): boolean {
  const hasJob = jobs.value.some(({ worktree, status }) => worktree === id && !isOver(status) && status !== 'paused');
  return hasJob || runs.value.some(({ worktree, status }) => worktree === id && WORKING.has(status));
}

const WORKING: ReadonlySet<string> = new Set(['queued', 'running', 'awaiting_input']);

export const TIERS: Record<Clash['tier'], Said> = {
  hot: { tone: 'bad', text: 'Same lines' },
  soft: { tone: 'waits', text: 'Same files' },
  hop: { tone: 'works', text: 'Related files' },
  unknown: { tone: 'calm', text: 'Not known' },
};

/** Lines of a file: 3, 8–12. */
export function lineWords(lines: Clash['files'][number]['lines']): string {
  return (lines ?? []).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}

/** Another worktree by its title, or a checkout that is not Reef's by its path. */
export function nameIn(all: readonly WorktreeView[], id: string): string {
  return plain(all.find((view) => view.id === id)?.title.split('\n', 1)[0] ?? id);
}
