import { describe, expect, test } from 'vitest';
import { chunk, Talk } from '../../../test/support/agents/acp-talk.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Effect } from '../adapter.ts';

describe('a tool', () => {
  const diff = (oldText: string, newText: string) => [{ type: 'diff', path: '/repo/f', oldText, newText }];

  test('is shown when its arguments are there, and ends with its result', () => {
    const talk = Talk.working();
    talk.update(chunk);
    const call = { id: 't', name: 'Bash', tool: 'shell', title: 'ls', input: { command: 'ls' } };
    const result = { kind: 'tool_result', id: 't', ok: false, exitCode: 2, text: 'no' };
    const news = { sessionUpdate: 'tool_call_update', toolCallId: 't' };
    expect([
      talk.update({
        sessionUpdate: 'tool_call',
        toolCallId: 't',
        name: 'Bash',
        title: 'Shell',
        kind: 'execute',
        status: 'pending',
        rawInput: {},
      }),
      talk.update({ ...news, title: 'ls', rawInput: { command: 'ls' } }),
      talk.update({ ...news, status: 'failed', rawOutput: { exit_code: 2, output: 'no' } }),
      talk.update({ ...news, status: 'failed' }),
    ]).toEqual([
      [],
      [
        { do: 'text', kind: 'text', id: 'm1', text: '', final: true },
        { do: 'emit', event: { type: 'tool_call', payload: call } },
      ],
      [{ do: 'emit', event: { type: 'progress', payload: result } }],
      [],
    ]);
  });

  test('that failed edited nothing, and a line cut short shows no diff', () => {
    const talk = Talk.working();
    const edit = (id: string, status: string) => ({
      method: 'session/update',
      params: {
        update: { sessionUpdate: 'tool_call_update', toolCallId: id, kind: 'edit', status, content: diff('', 'x\n') },
      },
    });
    const edits = (effects: Effect[]) =>
      effects.flatMap((effect) =>
        effect.do === 'emit' && effect.event.type === 'file_edit' ? [effect.event.payload] : [],
      );
    expect([edits(talk.hear(edit('t1', 'failed'))), edits(talk.hear(edit('t2', 'completed'), true))]).toEqual([
      [],
      [{ id: 't2', path: '/repo/f', kind: 'add' }],
    ]);
  });

  verifies('A-51').test('with a large edit, or very many of them, keeps the state small', () => {
    const talk = Talk.working();
    const text = Array.from({ length: 5000 }, (_, at) => `"${at}"\u0001\n`).join('');
    for (let at = 0; at < 200; at++) {
      talk.update({
        sessionUpdate: 'tool_call_update',
        toolCallId: `t${at}`,
        title: 'edit',
        kind: 'edit',
        content: diff('', text),
      });
    }
    talk.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: text.repeat(20) } });
    expect(Buffer.byteLength(JSON.stringify(talk.state))).toBeLessThan(64 * 1024);
  });
});
