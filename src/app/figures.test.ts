import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { GateView } from '../protocol/workflow.ts';
import { Store } from '../store/store.ts';
import { openFigures } from './figures.ts';

verifies('U-27').test('runs are counted by what they do, and gates by what they said', async () => {
  const dir = temporaryFolder();
  const database = join(dir, 'reef.db');
  const store = new Store(database);
  const gate = (visit: number, result: GateView['result']): GateView => {
    return { branch: '', block: 'Tests', visit, gate: 'tests', result };
  };
  store.commit(() => {
    for (const [id, state] of [
      ['A', 'waiting'],
      ['B', 'begun'],
      ['C', 'over'],
      ['D', 'over'],
    ] as const)
      store.runs.insert({ id, worktreeId: '', state, doc: {} });
    store.verdicts.insert('C', [gate(1, 'failed'), gate(2, 'passed')]);
    store.verdicts.insert('D', [gate(1, 'passed')]);
  });
  writeFileSync(join(dir, 'other'), 'x'.repeat(1_000));
  const figures = await openFigures(store, { dir, database })();
  store.close();
  expect(figures).toMatchObject({
    jobs: {},
    runs: { waiting: 1, working: 1, asking: 0, over: 2 },
    gates: [
      { gate: 'tests', result: 'failed', count: 1 },
      { gate: 'tests', result: 'passed', count: 2 },
    ],
    questions: { open: 0 },
  });
  expect(figures.homeBytes).toBeGreaterThanOrEqual(figures.databaseBytes + 1_000);
});
