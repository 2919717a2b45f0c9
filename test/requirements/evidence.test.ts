import { expect } from 'vitest';
import type { requirementRows } from '../requirements.ts';
import { verifies } from '../support/verifies.ts';
import { type LastRun, pageTable, provedTodo, unproved } from './evidence.ts';

const says = 'something holds';
const rows: typeof requirementRows = [
  ['Q-01', { page: 'reliability', from: '+', says, status: 'done' }],
  ['Q-02', { page: 'reliability', from: '+', says, status: 'done' }],
  ['Q-03', { page: 'reliability', from: '+', says, status: 'done', needs: ['bubblewrap'] }],
  ['Q-04', { page: 'reliability', from: '+', says, status: 'done', needs: ['bubblewrap'] }],
  ['Q-05', { page: 'reliability', from: '+', says, status: 'done', tiers: ['faults'] }],
  ['A-01', { page: 'agents', from: '+', says, status: 'todo', because: 'not proved yet' }],
  ['A-02', { page: 'agents', from: '+', says, status: 'todo', because: 'not proved yet' }],
  ['A-03', { page: 'agents', from: '+', says, status: 'done' }],
];
const run: LastRun = {
  tier: 'test',
  full: true,
  evidence: {
    'Q-01': { passed: 1, failed: 0, missing: ['strace is not installed'] },
    'Q-02': { passed: 0, failed: 0, missing: ['strace is not installed'] },
    'Q-03': { passed: 0, failed: 0, missing: ['Bubblewrap is not installed'] },
    'Q-04': { passed: 0, failed: 0, missing: ['strace is not installed'] },
    'A-01': { passed: 2, failed: 0, missing: [] },
    'A-02': { passed: 2, failed: 1, missing: [] },
  },
};

verifies('Q-97').test('a skip or a missing test leaves a done id unproved unless the row needs what is missing', () => {
  expect(unproved(rows, run)).toEqual([
    { id: 'Q-02', allowed: false },
    { id: 'Q-03', allowed: true },
    { id: 'Q-04', allowed: false },
    { id: 'A-03', allowed: false },
  ]);
});

verifies('Q-97').test('an id is owed only in its own tier', () => {
  expect(unproved(rows, { tier: 'faults', full: true, evidence: {} })).toEqual([{ id: 'Q-05', allowed: false }]);
});

verifies('Q-97').test('a todo is proved when all its tests passed', () => {
  expect(provedTodo(rows, run)).toEqual(['A-01']);
});

verifies('Q-97').test('the table counts done, todo and unproved per page', () => {
  expect(pageTable(rows, run)).toEqual([
    'requirements       done     todo unproved',
    'reliability           5        0        3',
    'agents                1        2        1',
    'all                   6        2        4',
  ]);
});

verifies('Q-97').test('citing an unknown id does not type-check', () => {
  // @ts-expect-error the ledger has no such id, and tsc says so
  expect(() => verifies('Q-00')).not.toThrow();
});
