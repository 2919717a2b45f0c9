import { join } from 'node:path';
import type { SessionUpdate, ToolCallContent, ToolKind } from '@agentclientprotocol/sdk';
import { printable } from '../../base/printable.ts';
import { Payload } from '../render/payload.ts';
import type { LoggedEvent } from '../render/timeline.ts';

const KINDS: Readonly<Record<string, ToolKind>> = {
  shell: 'execute',
  read: 'read',
  edit: 'edit',
  search: 'search',
  fetch: 'fetch',
  agent: 'think',
};

const STATUS = { pending: 'pending', in_progress: 'in_progress', completed: 'completed' } as const;

export const message = (text: string): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
});

/** What an agent of one job did and said, as the editor shows it. */
export class Updates {
  /** Known when it starts: its worktree may still have to be made. */
  #folder = '/';
  /** An editor replaces the content of a tool call by what it is sent, so that all of it is sent each time. */
  readonly #contents = new Map<string, ToolCallContent[]>();

  of({ type, payload: fields }: LoggedEvent): SessionUpdate[] {
    const payload = new Payload(fields);
    switch (type) {
      case 'started':
        this.#folder = payload.text('cwd');
        return [];
      case 'progress':
        return this.#progress(payload);
      case 'tool_call':
        return this.#call(payload);
      case 'file_edit':
        return this.#edit(payload);
      case 'error':
        return payload.text('scope') === 'line' ? [] : [message(`\n\n**${printable(payload.text('message'))}**\n\n`)];
      default:
        return [];
    }
  }

  #progress(payload: Payload): SessionUpdate[] {
    // A sub-agent talks to its agent, and its agent to the person.
    if (payload.text('parent') !== '' && payload.text('kind') !== 'tool_result') return [];
    const text = printable(payload.text('text')) + (payload.is('delta') ? '' : '\n\n');
    switch (payload.text('kind')) {
      case 'text':
        return [message(text)];
      case 'thinking':
        return [{ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }];
      case 'warning':
        return [
          {
            sessionUpdate: 'agent_thought_chunk',
            content: { type: 'text', text: `${printable(payload.text('message'))}\n\n` },
          },
        ];
      case 'plan':
        return [{ sessionUpdate: 'plan', entries: payload.list('entries').map(planEntry) }];
      case 'tool_result':
        return this.#changed(payload.text('id'), payload.is('ok') ? 'completed' : 'failed', {
          type: 'content',
          content: { type: 'text', text: printable(payload.text('text')) },
        });
      default:
        return [];
    }
  }

  #call(payload: Payload): SessionUpdate[] {
    const toolCallId = payload.text('id');
    const [title, kind] = [printable(payload.text('title')), KINDS[payload.text('tool')] ?? 'other'];
    this.#contents.set(toolCallId, []);
    return [
      { sessionUpdate: 'tool_call', toolCallId, title, kind, status: 'in_progress', rawInput: payload.get('input') },
    ];
  }

  #edit(payload: Payload): SessionUpdate[] {
    const path = join(payload.is('outside') ? '/' : this.#folder, payload.text('path'));
    const diff = { type: 'diff', path, ...sidesOf(payload.text('diff')) } as const;
    const toolCallId = payload.text('id');
    if (this.#contents.has(toolCallId)) return this.#changed(toolCallId, 'in_progress', diff);
    const title = `${payload.text('kind')} ${printable(payload.text('path'))}`;
    return [
      {
        sessionUpdate: 'tool_call',
        toolCallId: `edit-${toolCallId}-${path}`,
        title,
        kind: 'edit',
        status: 'completed',
        content: [diff],
        locations: [{ path }],
      },
    ];
  }

  #changed(toolCallId: string, status: 'in_progress' | 'completed' | 'failed', more: ToolCallContent): SessionUpdate[] {
    const content = [...(this.#contents.get(toolCallId) ?? []), more];
    this.#contents.set(toolCallId, content);
    return [{ sessionUpdate: 'tool_call_update', toolCallId, status, content }];
  }
}

function planEntry(entry: Payload) {
  const status = STATUS[entry.text('status') as keyof typeof STATUS] ?? 'pending';
  return { content: printable(entry.text('text')), priority: 'medium' as const, status };
}

/** The pieces that a unified diff shows of both sides. */
function sidesOf(diff: string): { oldText: string | null; newText: string } {
  const lines = diff.split('\n').filter((line) => /^[ +-]/.test(line) && !/^(---|\+\+\+) /.test(line));
  const side = (without: string) => lines.filter((line) => !line.startsWith(without)).map((line) => line.slice(1));
  const old = side('+');
  return { oldText: old.length === 0 ? null : old.join('\n'), newText: side('-').join('\n') };
}
