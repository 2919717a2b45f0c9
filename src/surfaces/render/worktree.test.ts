import { expect, test } from 'vitest';
import { sampleWorktree } from '../../../test/support/surfaces/sample-runs.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { printable } from '../../base/printable.ts';
import { createStyle } from './style.ts';
import { acceptance, conflictReport, worktreeDiff, worktreeTable } from './worktree.ts';

const HOSTILE = 'src/\u001b]0;owned\u0007\u202etxt.exe\u200b';
const style = createStyle({ colour: false, width: 100, now: new Date(0) });

verifies('X-51', 'X-139').test('names of files reach a terminal without what acts on it or hides', () => {
  const clash = { worktreeId: `W${HOSTILE}`, tier: 'hot' as const, files: [{ path: HOSTILE }] };
  const report = { status: 'CLASH' as const, complete: false, clashes: [clash], problems: [HOSTILE] };
  const texts = [
    conflictReport({ report, worktrees: [{ id: 'W', clashes: [clash] }] } as never, style),
    worktreeDiff(
      {
        ...{ files: [{ status: 'R', path: HOSTILE, from: HOSTILE }], patch: `+${HOSTILE}`, truncated: false },
        drift: { unplanned: [HOSTILE], untouched: [] },
      } as never,
      style,
    ),
    acceptance(
      {
        status: 'pending',
        commit: '',
        waiting: { checkout: '/', files: [HOSTILE], command: 'x' },
        noted: [HOSTILE],
      } as never,
      style,
    ),
  ];
  for (const text of texts) expect([printable(text) === text, text.includes('owned')]).toEqual([true, true]);
});

test('a worktree in which nobody is at work is idle', () => {
  const statusOf = (more: Parameters<typeof sampleWorktree>[0]) =>
    worktreeTable([sampleWorktree(more)], style)
      .split('\n')[1]
      ?.split(/ {2,}/)[1];
  expect([
    statusOf({ status: 'running', atWork: true }),
    statusOf({ status: 'running' }),
    statusOf({ status: 'accepting' }),
  ]).toEqual(['running', 'idle', 'accepting']);
});
