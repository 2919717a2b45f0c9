import { describe, expect } from 'vitest';
import { verifies } from '../../../test/verifies.ts';
import { manualClock } from '../../base/clock.ts';
import { type EventBody, eventBodySchema } from '../../protocol/events.ts';
import type { EngineEvent, RunOutcome } from './emitter.ts';
import { jobEmitter } from './job-emitter.ts';

const usage = { input: 100, output: 20, cached: 40, reasoning: 5 };
const jobUsage = { input: 60, output: 20, cacheRead: 40, cacheWrite: 0, reasoning: 5, costUsd: null, partial: false };
const outcome: RunOutcome = {
  request_id: 'r',
  final_message: 'bye',
  tool_call_count: 1,
  turns: 1,
  compressed: false,
  autonamed: false,
  auto_continued: 0,
  usage,
  cost: null,
};
const failed = (code: string): EngineEvent => ({
  type: 'error',
  error: { code, message: 'm', hint: '', retryable: true },
});

async function told(...events: EngineEvent[]): Promise<EventBody[]> {
  const heard: EventBody[] = [];
  const clock = manualClock();
  const emitter = jobEmitter((event) => void heard.push(eventBodySchema.parse(event)), clock);
  await clock.advance(250);
  for (const event of events) await emitter.emit(event);
  return heard;
}

describe('a run as a job', () => {
  verifies('R-72').test('is told in the events every watcher of jobs knows', async () => {
    const heard = await told(
      { type: 'started', request_id: 'r', session_id: 's', model: 'm:m' },
      { type: 'assistant_delta', kind: 'reasoning', text: 'hm' },
      { type: 'assistant_delta', kind: 'text', text: 'h' },
      { type: 'assistant_message_end', text: 'hi', usage, cost: null },
      { type: 'tool_call', id: '1', name: 'execute_command', arguments: { command: 'ls' } },
      { type: 'tool_result', id: '1', name: 'execute_command', output: 'a', is_error: false },
      { type: 'auto_continue_triggered', count: 1, max: 3 },
      { type: 'warning', message: 'w' },
      { type: 'session_compressing' },
      { type: 'finished', outcome },
    );
    expect(heard).toEqual([
      { type: 'progress', payload: { kind: 'session', sessionId: 's', model: 'm:m' } },
      { type: 'progress', payload: { kind: 'thinking', text: 'hm', delta: true } },
      { type: 'progress', payload: { kind: 'text', text: 'h', delta: true } },
      { type: 'progress', payload: { kind: 'text', text: 'hi' } },
      { type: 'progress', payload: { kind: 'usage', usage: jobUsage } },
      {
        type: 'tool_call',
        payload: {
          id: '1',
          name: 'execute_command',
          tool: 'shell',
          title: 'execute_command ls',
          input: { command: 'ls' },
        },
      },
      { type: 'progress', payload: { kind: 'tool_result', id: '1', ok: true, text: 'a' } },
      { type: 'progress', payload: { kind: 'turn', n: 2 } },
      { type: 'progress', payload: { kind: 'warning', message: 'w' } },
      {
        type: 'completed',
        payload: { scope: 'turn', outcome: 'done', result: 'bye', usage: jobUsage, durationMs: 250 },
      },
    ]);
  });

  verifies('R-72').test('that fails says so once, and one that was cancelled was interrupted', async () => {
    const started: EngineEvent = { type: 'started', request_id: 'r', model: 'm:m' };
    expect(await told(started, failed('keys_exhausted'), { type: 'finished', outcome })).toEqual([
      {
        type: 'error',
        payload: { code: 'keys_exhausted', message: 'm', retryable: true, fatal: false, scope: 'turn' },
      },
    ]);
    expect(await told(started, failed('cancelled'), { type: 'finished', outcome })).toEqual([
      { type: 'completed', payload: expect.objectContaining({ outcome: 'interrupted' }) },
    ]);
  });
});
