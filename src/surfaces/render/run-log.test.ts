import { expect, test } from 'vitest';
import type { OperationOutput } from '../../protocol/operations.ts';
import type { LogEntry, RunView } from '../../protocol/workflow.ts';
import { RunLog } from './run-log.ts';
import { createStyle } from './style.ts';

const LOG = `\u001b[90m> test\u001b[39m
SyntaxError: Unexpected token
${Array.from({ length: 20 }, (_, n) => `    at load${n} (node:internal/modules:${n}:1)`).join('\n')}
\u001b[31m1 failed\u001b[39m
`;

const visited = (block: string, status: LogEntry['status'], text: string): LogEntry => ({
  ...{ block, visit: 1, branch: 'main', worker: 'Internal:TestRunner', startedAt: '', endedAt: '2026-01-01T00:00:00Z' },
  ...{ status, signal: 'SIGNAL:FAILURE' },
  segments: text === '' ? [] : [{ id: 's', type: 'TEST_RESULT', timestamp: '', bytes: text.length, head: text }],
});

async function told(
  executionLog: RunView['executionLog'],
  gates: Partial<RunView['gates'][number]>[],
  read: () => Promise<OperationOutput<'output'>> = () => Promise.reject(new Error('no agent worked')),
) {
  const view = { runId: 'r1', executionLog, gates, events: [], halts: [] } as unknown as RunView;
  const log = new RunLog({
    style: createStyle({ colour: false, width: 100, now: new Date(0) }),
    read,
  });
  const status = { runs: [{ runId: 'r1', path: null }], view } as unknown as OperationOutput<'run_status'>;
  const lines: string[] = [];
  for await (const line of log.news(status)) lines.push(line);
  return lines;
}

test('a failed gate shows the end of its log without colours, and no stack frame takes the place of the error', async () => {
  const lines = await told({ 'Main__Test#1': visited('Main__Test', 'failed', LOG) }, [
    { gate: 'test', block: 'Main__Test', visit: 1, result: 'failed' },
  ]);
  expect(lines).toEqual([
    '▶ Test',
    '✘ Test  failed',
    '    │ > test',
    '    │ SyntaxError: Unexpected token',
    '    │ 1 failed',
    '    all of it: reef run log r1 Test',
  ]);
});

test('a gate without a command is no failure', async () => {
  const lines = await told({ 'Main__Lint#1': visited('Main__Lint', 'failed', '') }, [
    { gate: 'lint', block: 'Main__Lint', visit: 1, result: 'not_run' },
  ]);
  expect(lines).toEqual(['▶ Lint', '– Lint  not configured']);
});

test('what an agent came to is said in words', async () => {
  const ended = (signal: string): LogEntry => ({ ...visited('Main__Code', 'failed', ''), signal });
  const last = async (signal: string) => (await told({ 'Main__Code#1': ended(signal) }, [])).at(-1);
  expect([await last('SIGNAL:VALIDATION_FAIL'), await last('SIGNAL:NO_CHANGES')]).toEqual([
    '✘ Code  its answer could not be used',
    '✘ Code  no changes',
  ]);
});

test('files are named without the folder of the worktree, also once that is gone', async () => {
  const about = { agentId: 'j1', timestamp: '2026-01-01T00:00:00Z' };
  const started = { agent: 'codex', mode: 'headless', cwd: '/data/w1', sandbox: 'bubblewrap', resumed: false };
  const call = { id: 't', name: 'apply_patch', tool: 'edit', title: 'Edit /data/w1/test/a.js', input: {} };
  const events = [
    { seq: 1, type: 'started', payload: started, ...about },
    { seq: 2, type: 'tool_call', payload: call, ...about },
  ];
  const page = { events, truncated: false, nextCursor: '2' } as unknown as OperationOutput<'output'>;
  const entry = { ...visited('Main__Code', 'complete', ''), signal: 'SIGNAL:SUCCESS', jobId: 'j1' };
  const lines = await told({ 'Main__Code#1': entry }, [], () => Promise.resolve(page));
  expect(lines.slice(1, 3).map((line) => line.trim())).toEqual([
    '▶ codex started in its worktree, in a sandbox',
    '→ Edit test/a.js',
  ]);
});

test('the seconds of a gate are its own, beside those of the set-up before it', async () => {
  const spent = { tokens: 0, turns: 0, seconds: 20.5, usd: 0 };
  const entry = { ...visited('Main__Test', 'complete', ''), spent, took: { setUp: 16.24, gate: 3.5 } };
  const lines = await told({ 'Main__Test#1': entry }, [
    { gate: 'test', block: 'Main__Test', visit: 1, result: 'passed' },
  ]);
  expect(lines.at(-1)).toBe('✔ Test  passed, 3.5 s (set-up 16.2 s)');
});

test('a gate that failed before the change as well is neither a success nor a failure of the run', async () => {
  const gate = { gate: 'test', block: 'Main__Test', visit: 1, result: 'failed' as const };
  const markAt = async (status: 'complete' | 'failed') =>
    (await told({ 'Main__Test#1': visited('Main__Test', status, '') }, [gate])).find((line) => line.includes('Test  '));
  expect([await markAt('complete'), await markAt('failed')]).toEqual([
    expect.stringMatching(/^– Test {2}failed/),
    expect.stringMatching(/^✘ Test {2}failed/),
  ]);
});
