import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { acpAdapter } from './acp/adapter.ts';
import type { Adapter, Json } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { codexAdapter } from './codex/adapter.ts';
import { applyEffects } from './effects.ts';
import { terminalEvent } from './ending.ts';
import { ingest } from './ingest.ts';

/** What a launch says more than once, or at every launch, and what of it becomes an event. */

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

/** What a person is told of lines on stderr. */
function warnings(adapter: Adapter<never>, lines: string[]): string[] {
  const launch = { jobId: 'J', cwd: '/repo', freshSessionId: 'fresh', prompt: '', clientVersion: '0.0.0' };
  const machine = { command: ['/bin/agent'] as [string], agentSandbox: false, settings: {} };
  storage.change('J', (tx) => {
    tx.runtime.adapter = adapter.initial(launch, machine);
    const err = lines.map((text, n) => ({ text, offset: n, bytes: text.length }));
    ingest(tx, adapter as unknown as Adapter<Json>, {
      out: [],
      err,
      read: { out: 0, err: lines.length },
      isFull: false,
    });
  });
  const told = storage.events('J').flatMap(({ type, payload }) => (type === 'progress' ? [payload] : []));
  return told.map((payload) => ('message' in payload ? String(payload.message) : payload.kind));
}

verifies('A-173').test('what Codex writes at every launch is no warning, and what is wrong still is', () => {
  const wrong = '2026-11-19T21:49:57.1Z ERROR codex_core::session: failed to record rollout items: thread 7 not found';
  const lines = [
    'Reading additional input from stdin...',
    '2026-11-19T21:49:56.579812Z ERROR codex_app_server: Project-local config, hooks, and exec policies are disabled in the following folders until the project is trusted, but skills still load.',
    '    1. /home/ada/shop/.codex',
    '       To load project-local config, hooks, and exec policies, add /home/ada/shop as a trusted project in /home/ada/.codex/config.toml.',
    '2026-11-19T21:49:56.9Z ERROR codex_core::tools::router: error=Exit code: 1',
    wrong,
  ];
  expect(warnings(codexAdapter as never, lines)).toEqual([wrong]);
});

verifies('A-173').test('Gemini measures its own start, and nobody is told', () => {
  const lines = [
    "[STARTUP] Phase 'cli_startup' was started but never ended. Skipping metrics.",
    'Could not find promptId in context for classifier-router. This is unexpected. Using a fallback ID: classifier-router-fallback-1',
    'Error when talking to Gemini API',
  ];
  expect(warnings(acpAdapter('gemini') as never, lines)).toEqual(['Error when talking to Gemini API']);
});
