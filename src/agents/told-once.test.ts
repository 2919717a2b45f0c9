import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { applyEffects } from './effects.ts';
import { terminalEvent } from './ending.ts';

/** What recorded sessions of Claude Code become as events: from the first line to the end of the process. */

let storage: TestStorage;
beforeEach(() => {
  storage = new TestStorage(manualClock());
  storage.addJob('J');
});
afterEach(() => storage.close());

interface Line {
  dir: string;
  line: string;
  code: number;
}

function replay(name: string, more: object[] = []): void {
  const file = new URL(`../../test/fixtures/agents/claude/${name}.jsonl`, import.meta.url);
  const recorded = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const lines = [...recorded.slice(0, -1), ...more.map((json) => ({ dir: 'out', line: JSON.stringify(json) }))];
  const request = { jobId: 'J', cwd: '/repo', freshSessionId: 'fresh', prompt: '', clientVersion: '0.0.0' };
  const how = { command: ['/bin/claude'] as [string], version: '2.1.325', agentSandbox: true, settings: {} };
  let state = claudeAdapter.initial(request, how);
  for (const { line } of lines.filter((each) => each.dir === 'out')) {
    const read = claudeAdapter.parse(state, { stream: 'out', json: JSON.parse(line), skeleton: false });
    state = read.state;
    const source = { stream: 'out', offset: 0, bytes: line.length, text: line } as const;
    storage.change('J', (tx) => {
      applyEffects(tx, read.effects, source);
      tx.runtime.adapter = state as never;
    });
  }
  const code = recorded.at(-1)?.code ?? 0;
  const end = { code, ceilingReached: false, at: '2026-01-01T00:00:09.000Z' };
  storage.change('J', (tx) => {
    const { job, runtime } = tx;
    tx.emit(terminalEvent({ job, runtime, end, adapter: claudeAdapter as never }));
  });
}

const errors = () => storage.events('J').filter(({ type }) => type === 'error');
const kinds = () => storage.events('J').flatMap((event) => (event.type === 'progress' ? [event.payload.kind] : []));

verifies('A-173').test('an error that lasts is told once, and the end of the process says that it is the same', () => {
  replay('fail400');
  const [told, end, ...more] = errors();
  expect(more).toEqual([]);
  expect(told?.payload).toMatchObject({ scope: 'turn', fatal: false });
  expect(end?.payload).toMatchObject({ scope: 'process', fatal: true, repeats: true });
});

verifies('A-173').test("an agent's own retries are one event each, and what they ended in is told once", () => {
  replay('fail500');
  expect(kinds().filter((kind) => kind === 'retry' || kind === 'warning')).toEqual(['retry', 'retry']);
  expect(errors()).toHaveLength(2);
});

verifies('A-173').test('a shortened history is one event', () => {
  replay('simple', [{ type: 'system', subtype: 'compact_boundary', compact_metadata: { trigger: 'auto' } }]);
  const told = storage.events('J').filter(({ type, payload }) => type === 'progress' && 'message' in payload);
  expect(told.map(({ payload }) => payload)).toEqual([
    { kind: 'warning', message: 'Claude summarised the conversation to make room' },
  ]);
});
