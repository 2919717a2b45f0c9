import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { JournalKind } from '../../workflow/durable/journal.ts';
import { isInFork, lastCheckpoint, namesOf } from './moved-records.ts';

const entry = (kind: JournalKind, key: string, value: Json = null) => ({ kind, key, data: { value } });
const FORK = 'main/N__A#1/fork-1';

verifies('F-35').test(
  'a run goes on from the last checkpoint of its main branch, and from no fork that is open',
  () => {
    const before = [entry('step', 'begin'), entry('step', 'main/N__A#1', { checkpoint: 'c1' })];
    const made = entry('step', `${FORK}/main.1/worktree`, { ok: { id: 'W', path: '/w' } });
    const branch = [entry('step', 'main.1/N__B#1', { checkpoint: 'c2' }), entry('child', 'main.1', {})];
    const join = entry('step', `${FORK}/join`, { checkpoint: 'c3' });
    expect(lastCheckpoint([...before, made, ...branch])).toBe('c1');
    expect(lastCheckpoint([...before, made, ...branch, join])).toBe('c3');
    const open = [
      isInFork(before, []),
      isInFork([...before, made], []),
      isInFork([...before, made], ['main.1']),
      isInFork([...before, made, ...branch], ['main.1']),
      isInFork([...before, made, ...branch, join], ['main.1']),
      isInFork([...before, made, ...branch, join], ['main.1', 'main.2']),
    ];
    expect(open).toEqual([false, true, true, true, false, true]);
    const moving = {
      worktreeOf: () => 'X',
      worktreeOfStep: (key: string) => (key === `R/${made.key}` ? 'Y' : undefined),
    };
    const input = { worktree: { id: 'M', path: '/m' } };
    expect(namesOf(moving, { runId: 'R', input, entries: [made] })).toEqual([
      ['M', 'X'],
      ['W', 'Y'],
    ]);
  },
);
