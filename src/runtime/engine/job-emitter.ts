import type { Clock } from '../../base/clock.ts';
import type { EventBody } from '../../protocol/events.ts';
import type { Usage } from '../models/client.ts';
import type { Emitter, EngineEvent, RunOutcome } from './emitter.ts';

type ToolKind = Extract<EventBody, { type: 'tool_call' }>['payload']['tool'];

/** What kind of work a tool is, by its name: for the one line a watcher reads. */
const KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(execute_|run_command)/, 'shell'],
  [/^(fs_cat|fs_read|fs_ls|read_file|list_files)$/, 'read'],
  [/^(fs_write|fs_patch|fs_rm|fs_mkdir|write_file|edit_file)$/, 'edit'],
  [/^(fs_glob|fs_grep|code_search)$/, 'search'],
  [/^fetch_/, 'fetch'],
  [/^mcp_/, 'mcp'],
  [/^agent__/, 'agent'],
];

/** A run as the events of a job: the eight types every watcher of jobs knows. */
export function jobEmitter(
  write: (event: EventBody) => void | Promise<void>,
  clock: Pick<Clock, 'monotonicMs'>,
): Emitter {
  const startedAt = clock.monotonicMs();
  let end: 'done' | 'interrupted' | undefined;
  return {
    async emit(event) {
      if (event.type === 'error') end = event.error.code === 'cancelled' ? 'interrupted' : undefined;
      if (event.type === 'started') end = 'done';
      if (event.type !== 'finished') {
        for (const each of toJobEvents(event)) await write(each);
        return;
      }
      // A run that failed has said so in an error; only one that ended is completed.
      if (end !== undefined) await write(completed(event.outcome, end, clock.monotonicMs() - startedAt));
    },
  };
}

function toJobEvents(event: EngineEvent): EventBody[] {
  switch (event.type) {
    case 'started':
      return event.session_id === undefined
        ? []
        : [{ type: 'progress', payload: { kind: 'session', sessionId: event.session_id, model: event.model } }];
    case 'assistant_delta': {
      const kind = event.kind === 'text' ? 'text' : 'thinking';
      return [{ type: 'progress', payload: { kind, text: event.text, delta: true } }];
    }
    case 'assistant_message_end': {
      const usage: EventBody = {
        type: 'progress',
        payload: { kind: 'usage', usage: toJobUsage(event.usage, event.cost) },
      };
      return event.text === '' ? [usage] : [{ type: 'progress', payload: { kind: 'text', text: event.text } }, usage];
    }
    case 'tool_call':
      return [{ type: 'tool_call', payload: toolCall(event) }];
    case 'tool_result': {
      const { id, is_error, output } = event;
      return [{ type: 'progress', payload: { kind: 'tool_result', id, ok: !is_error, text: output } }];
    }
    case 'auto_continue_triggered':
      return [{ type: 'progress', payload: { kind: 'turn', n: event.count + 1 } }];
    case 'warning':
      return [{ type: 'progress', payload: { kind: 'warning', message: event.message } }];
    case 'error': {
      const { code, message, retryable } = event.error;
      if (code === 'cancelled') return [];
      return [{ type: 'error', payload: { code, message, retryable, fatal: false, scope: 'turn' } }];
    }
    default:
      return [];
  }
}

function toolCall({ id, name, arguments: input }: Extract<EngineEvent, { type: 'tool_call' }>) {
  const [, tool = 'other' as const] = KINDS.find(([pattern]) => pattern.test(name)) ?? [];
  const given = typeof input === 'object' && input !== null ? Object.values(input) : [];
  const subject = given.find((value) => typeof value === 'string');
  return { id, name, tool, title: subject === undefined ? name : `${name} ${subject.slice(0, 200)}`, input };
}

/** Jobs count cached input apart. */
function toJobUsage({ input, output, cached, reasoning }: Usage, cost: number | null) {
  return { input: input - cached, output, cacheRead: cached, cacheWrite: 0, reasoning, costUsd: cost, partial: false };
}

function completed(outcome: RunOutcome, how: 'done' | 'interrupted', durationMs: number): EventBody {
  const { final_message = '', usage, cost } = outcome;
  return {
    type: 'completed',
    payload: { scope: 'turn', outcome: how, result: final_message, usage: toJobUsage(usage, cost), durationMs },
  };
}
